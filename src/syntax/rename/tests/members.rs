//! Methods, fields and the types they are reached through.

use super::check;

#[test]
fn a_method_is_certain_where_the_receiver_is_known() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        pub struct Client { inner: Inner, next: Box<Client> }
        pub struct Inner;
        impl Inner { pub fn send(&self, x: u8) {} fn make() -> Inner { Inner } }
        impl Client {
            pub fn new() -> Self { Client::with(1) }
            pub fn with(x: u8) -> Client { Client { inner: Inner } }
            pub fn send(&self, x: u8) { self.send(1); self.inner.send(2); self.next.send(3); Self::send(self, 4); }
            pub fn me(&self) -> &Self { self }
        }
        fn a(c: &Client, i: Inner, u: U) {
            c.send(1); i.send(2); u.send(3); u.x().send(4); c.send();
            let d = Client::new(); d.send(5); let e = Inner::make(); e.send(6); Client::new().send(7); d.me().clone().send(8);
            list.map(Client::send); list.map(Inner::send); list.for_each(|c| c.send(9)); c.send;
            let c: Inner = i; c.send(10);
        }
        fn send() {}
        ",
        "Client::send",
        "post",
    ), @"
    src/lib.rs:
      pub fn <post>(&self, x: u8) { self.<post>(1); self.inner.send(2); self.next.<post>(3); Self::<post>(self, 4); }
      c.<post>(1); i.send(2); u.<post?>(3); u.x().<post?>(4); c.send();
      let d = Client::new(); d.<post>(5); let e = Inner::make(); e.send(6); Client::new().<post>(7); d.me().clone().<post>(8);
      list.map(Client::<post>); list.map(Inner::send); list.for_each(|c| c.<post?>(9)); c.send;
      ? its type cannot be seen; it may be `Inner::send` (src/lib.rs)
      ? its type cannot be seen; it may be `Inner::send` (src/lib.rs)
      ? its type cannot be seen; it may be `Inner::send` (src/lib.rs)
    ");
}

#[test]
fn an_only_method_is_certain_unless_others_have_such_a_name() {
    insta::assert_snapshot!(check(
        "
        //- src/lib.rs
        struct A;
        impl A { fn fetch_all(&self) {} fn send(&self) {} }
        fn a(x: X) { x.fetch_all(); x.y.fetch_all(); x.fetch_all(1); A::fetch_all(&a); x.fetch_all::<u8>(); }
        ",
        "A::fetch_all",
        "load_all",
    ), @"
    src/lib.rs:
      impl A { fn <load_all>(&self) {} fn send(&self) {} }
      fn a(x: X) { x.<load_all>(); x.y.<load_all>(); x.fetch_all(1); A::<load_all>(&a); x.<load_all>::<u8>(); }
    ");
    insta::assert_snapshot!(check(
        "
        //- src/lib.rs
        struct A;
        impl A { fn send(&self) {} }
        fn a(x: X, y: A) { x.send(); y.send(); }
        ",
        "A::send",
        "post",
    ), @"
    src/lib.rs:
      impl A { fn <post>(&self) {} }
      fn a(x: X, y: A) { x.<post?>(); y.<post>(); }
      ? its type cannot be seen; types of other crates have a `send` too
    ");
}

#[test]
fn a_trait_method_takes_its_impls_along() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        pub trait Store { fn keep(&self); }
        struct A;
        struct B;
        impl Store for A { fn keep(&self) {} }
        impl crate::Store for B { fn keep(&self) { Store::keep(self); self.keep() } }
        trait Other { fn keep(&self); }
        impl Other for B { fn keep(&self) {} }
        fn a(x: &dyn Store, a: A, b: B, y: impl Store) { x.keep(); a.keep(); b.keep(); y.keep(); A::keep(&a); <A as Store>::keep(&a); }
        ",
        "Store::keep",
        "hold",
    ), @"
    src/lib.rs:
      pub trait Store { fn <hold>(&self); }
      impl Store for A { fn <hold>(&self) {} }
      impl crate::Store for B { fn <hold>(&self) { Store::<hold>(self); self.<hold?>() } }
      fn a(x: &dyn Store, a: A, b: B, y: impl Store) { x.<hold>(); a.<hold>(); b.<hold?>(); y.<hold>(); A::<hold>(&a); <A as Store>::<hold?>(&a); }
      ? it may be `B::keep` (src/lib.rs)
      ? it may be `B::keep` (src/lib.rs)
      ? whether this is `Store::keep` cannot be seen
    ");
    insta::assert_snapshot!(check("
        //- src/lib.rs
        trait T { fn go(&self); }
        struct A;
        impl T for A { fn go(&self) {} }
        impl Display for A { fn fmt(&self) {} }
        ", "A::go", "run"), @"
        ! `A::go` implements a trait, which has the name; rename it there
        src/lib.rs#T::go
        ");
    insta::assert_snapshot!(check("
        //- src/lib.rs
        struct A;
        impl Display for A { fn fmt(&self) {} }
        ", "A::fmt", "run"), @"! `A::fmt` implements a trait, which has the name; rename it there");
}

#[test]
fn a_field_in_expressions_and_patterns() {
    insta::assert_snapshot!(check(
        r"
        //- src/lib.rs
        struct P { wide: u8 }
        struct Q { wide: u8 }
        impl P { fn a(self, wide: u8) { self.wide; P { wide: 1 }; P { wide }; Self { wide }; Q { wide }; let P { wide } = self; let P { wide: w, .. } = self; self.wide(); } }
        fn b(p: &P, q: Q, u: U) { p.wide; q.wide; u.wide; (p.wide)(); }
        ",
        "P::wide",
        "broad",
    ), @"
    src/lib.rs:
      struct P { <broad>: u8 }
      impl P { fn a(self, wide: u8) { self.<broad>; P { <broad>: 1 }; P { <broad: wide> }; Self { <broad: wide> }; Q { wide }; let P { <broad: wide> } = self; let P { <broad>: w, .. } = self; self.wide(); } }
      fn b(p: &P, q: Q, u: U) { p.<broad>; q.wide; u.<broad?>; (p.<broad>)(); }
      ? its type cannot be seen; it may be `Q::wide` (src/lib.rs)
    ");
}

#[test]
fn a_field_and_its_getter_are_told_apart() {
    let fixture = "
        //- src/lib.rs
        struct A { wide: u8 }
        impl A { fn wide(&self) -> u8 { self.wide } }
        impl Wide for A { fn wide(&self) -> u8 { 1 } }
        fn a(a: A) { a.wide() + a.wide; A { wide: 1 }; A::wide(&a); }
        ";
    insta::assert_snapshot!(check(fixture, "A::wide", "broad"), @"
    ! `A::wide` is defined 2 times; name one
    src/lib.rs#A.wide
    src/lib.rs#A::wide()
    ");
    insta::assert_snapshot!(check(fixture, "A::wide()", "broad"), @"
    src/lib.rs:
      impl A { fn <broad>(&self) -> u8 { self.wide } }
      fn a(a: A) { a.<broad?>() + a.wide; A { wide: 1 }; A::<broad?>(&a); }
      ? it may be `A::wide` (src/lib.rs)
      ? it may be `A::wide` (src/lib.rs)
    ");
    insta::assert_snapshot!(check(fixture, "A.wide", "broad"), @"
    src/lib.rs:
      struct A { <broad>: u8 }
      impl A { fn wide(&self) -> u8 { self.<broad> } }
      fn a(a: A) { a.wide() + a.<broad>; A { <broad>: 1 }; A::wide(&a); }
    ");
}

#[test]
fn a_field_inside_a_macro_is_doubted() {
    let fixture = "
        //- src/lib.rs
        struct A { wide: u8 }
        const wide: u8 = 1;
        fn a(b: A) { vec![A { wide }, A { wide: 1 }, b.wide, wide]; }
        ";
    insta::assert_snapshot!(check(fixture, "A.wide", "broad"), @"
    src/lib.rs:
      struct A { <broad>: u8 }
      fn a(b: A) { vec![A { <broad: wide?> }, A { <broad?>: 1 }, b.<broad>, wide]; }
      ? which struct this is cannot be seen
      ? which struct this is cannot be seen
    ");
    insta::assert_snapshot!(check(fixture, "src/lib.rs#wide", "BROAD"), @"
    src/lib.rs:
      const <BROAD>: u8 = 1;
      fn a(b: A) { vec![A { <wide: BROAD?> }, A { wide: 1 }, b.wide, <BROAD>]; }
      ? it may be a field as well
    ");
}
