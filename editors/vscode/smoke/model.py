"""A model for the smoke test: plans one step, and raises three numbers in it. `model.py FILE` writes its port there."""

import http.server
import json
import sys

FILE = "src/lib.rs"
STEP = {"id": "raise", "title": "Raise three numbers", "kind": "edit",
        "files": [{"path": FILE, "new": False, "focus": ""}], "command": "", "rule": "", "after": [], "check": "",
        "instruction": "Raise each of the three numbers."}
PLAN = {"title": "Raise them", "scope": ["src/**"], "accept": ["absent: `no such text`, in `src`"], "steps": [STEP],
        "assumptions": [], "questions": [], "advice": []}
PAIRS = [{"search": f"    {n}\n", "replace": f"    {n}0\n"} for n in (1, 2, 3)]


def answer(request):
    """What is said, and why it ends."""
    if not request.get("tools"):
        return {"content": json.dumps(PLAN)}, "stop"
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    name, arguments = ("replace", {"path": FILE, "pairs": PAIRS}) if turn == 0 else ("finish", {"summary": "raised"})
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": f"c{turn}", "type": "function", "function": function}]}, "tool_calls"


def chunk(delta, reason, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    said = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    return b"data: " + json.dumps(said).encode() + b"\n\n"


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "m", "meta": {"n_ctx": 32768}}]}
        self.say(json.dumps(models).encode(), "application/json")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said, reason = answer(request)
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        body = chunk({"role": "assistant", **said}, None) + chunk({}, reason, usage=usage) + b"data: [DONE]\n\n"
        self.say(body, "text/event-stream")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_address[1]))
server.serve_forever()
