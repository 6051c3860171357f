//! Ports of one life of a process: whoever the store has stopped does nothing more to the world.
//!
//! Two ways to die at the same place of the journal: before an effect has reached the world (`reach: false`: its call
//! never comes back, as nobody is there to make it), and after (`reach: true`: the effect is done, and then its result
//! is refused by the store).

use crate::domain::agent::dialogue::{ModelFault, ModelInfo, ModelReply, ModelRequest};
use crate::domain::change::Entry;
use crate::domain::ids::{ContentHash, TaskId, WorkspacePath};
use crate::domain::plan::Rule;
use crate::domain::symbols::*;
use crate::domain::task::facts::{Binding, RunOutcome, Rung};
use crate::ports::*;
use crate::syntax::TreeSitter;
use crate::testing::MemoryStore;
use crate::testing::memory_arena::MemoryArena;
use crate::testing::memory_model::MemoryModel;
use crate::testing::memory_workspace::MemoryWorkspace;
use std::path::{Path, PathBuf};

/// One life.
#[derive(Clone)]
pub(super) struct Life {
    pub(super) store: MemoryStore,
    pub(super) reach: bool,
}

impl Life {
    /// Nothing more is to be expected of this life.
    pub(super) fn is_over(&self) -> bool {
        if self.reach { self.store.refused() } else { self.store.stopped() }
    }

    /// Never comes back to the dead.
    async fn reach(&self) {
        if self.is_over() {
            std::future::pending::<()>().await;
        }
    }
}

/// A port that dies with its life.
pub(super) struct Mortal<P>(pub(super) P, pub(super) Life);

impl Model for Mortal<MemoryModel> {
    fn info(&self) -> Option<ModelInfo> {
        self.0.info()
    }

    fn complete(&self, request: ModelRequest, deltas: Deltas) -> Fut<'_, Result<ModelReply, ModelFault>> {
        Box::pin(async move {
            self.1.reach().await;
            self.0.complete(request, deltas).await
        })
    }
}

impl Arena for Mortal<MemoryArena> {
    fn rung(&self) -> Rung {
        self.0.rung()
    }

    fn run(&self, order: RunOrder, output: Deltas) -> Fut<'_, Result<RunOutcome, ArenaFault>> {
        Box::pin(async move {
            self.1.reach().await;
            self.0.run(order, output).await
        })
    }

    fn format<'a>(&'a self, path: &'a WorkspacePath, text: &'a str) -> Fut<'a, Option<String>> {
        self.0.format(path, text)
    }

    fn view(&self, overlay: Vec<(WorkspacePath, Entry)>) -> Fut<'_, Result<ContentHash, ArenaFault>> {
        self.0.view(overlay)
    }
}

impl Workspace for Mortal<MemoryWorkspace> {
    fn root(&self) -> &Path {
        self.0.root()
    }

    fn binding(&self) -> Fut<'_, Binding> {
        self.0.binding()
    }

    fn list(&self) -> Fut<'_, Vec<Listed>> {
        self.0.list()
    }

    fn read<'a>(&'a self, path: &'a WorkspacePath) -> Fut<'a, Result<Entry, ReadRefusal>> {
        self.0.read(path)
    }

    fn write<'a>(
        &'a self,
        path: &'a WorkspacePath,
        before: &'a Entry,
        after: &'a Entry,
    ) -> Fut<'a, Result<(), WriteRefusal>> {
        Box::pin(async move {
            self.1.reach().await;
            self.0.write(path, before, after).await
        })
    }

    fn write_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        Box::pin(async move {
            self.1.reach().await;
            self.0.write_page(task, name, text).await
        })
    }

    fn replace_page<'a>(
        &'a self,
        task: &'a TaskId,
        name: &'a str,
        expected: &'a str,
        text: &'a str,
    ) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        Box::pin(async move {
            self.1.reach().await;
            self.0.replace_page(task, name, expected, text).await
        })
    }

    fn read_page<'a>(&'a self, task: &'a TaskId, name: &'a str) -> Fut<'a, Result<Option<String>, ReadRefusal>> {
        self.0.read_page(task, name)
    }

    fn page_path(&self, task: &TaskId, name: &str) -> PathBuf {
        self.0.page_path(task, name)
    }

    fn write_loose<'a>(&'a self, page: LoosePage, text: &'a str) -> Fut<'a, Result<PathBuf, WriteRefusal>> {
        self.0.write_loose(page, text)
    }

    fn read_loose(&self, page: LoosePage) -> Fut<'_, Result<Option<String>, ReadRefusal>> {
        self.0.read_loose(page)
    }
}

/// The syntax port under another grammar version, if one is named.
pub(super) struct Versioned(pub(super) TreeSitter, pub(super) Option<&'static str>);

impl Syntax for Versioned {
    fn outline(&self, source: &Source) -> FileSymbols {
        self.0.outline(source)
    }

    fn errors(&self, source: &Source) -> Vec<SyntaxError> {
        self.0.errors(source)
    }

    fn table(&self) -> SymbolTable {
        self.0.table()
    }

    fn references(&self, sources: &[Source], name: &str) -> Vec<Reference> {
        self.0.references(sources, name)
    }

    fn transform(&self, sources: &[Source], rule: &Rule) -> Result<Vec<FileEdits>, RuleRefusal> {
        self.0.transform(sources, rule)
    }

    fn imports(&self, source: &Source) -> Vec<std::ops::Range<usize>> {
        self.0.imports(source)
    }

    fn version(&self) -> String {
        self.1.map_or_else(|| self.0.version(), str::to_owned)
    }
}
