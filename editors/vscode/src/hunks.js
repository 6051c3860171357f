// The proposal for a file as a diff: the file on the left, on the right the same with its open hunks put in. For
// looking only; deciding is done by lenses and code actions, which are the server's.
'use strict';
const vscode = require('vscode');

const SCHEME = 'planwright-proposal';

/** @typedef {{ id: string, range: import('vscode-languageclient').Range, old: string, new: string, state: string }} Hunk */

class Hunks {
    constructor() {
        /** What the server said last of each file.
         * @type {Map<string, Hunk[]>} */
        this.files = new Map();
        this.changed = new vscode.EventEmitter();
        this.onDidChange = this.changed.event;
        this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
    }

    /** @param {{ uri: string, version?: number, hunks: Hunk[] }} said */
    update(said) {
        // The server and VS Code may escape differently; a parsed address is the same for both.
        const uri = vscode.Uri.parse(said.uri);
        if (said.hunks.length > 0) this.files.set(uri.toString(), said.hunks);
        else this.files.delete(uri.toString());
        this.changed.fire(uri.with({ scheme: SCHEME }));
    }

    clear() {
        const uris = [...this.files.keys()];
        this.files.clear();
        for (const uri of uris) this.changed.fire(vscode.Uri.parse(uri).with({ scheme: SCHEME }));
    }

    /** The text of a file with its open hunks put in.
     * @param {vscode.Uri} uri */
    async provideTextDocumentContent(uri) {
        const file = uri.with({ scheme: 'file' });
        const document = await vscode.workspace.openTextDocument(file);
        const lines = document.getText().split(/(?<=\n)/);
        const open = (this.files.get(file.toString()) ?? []).filter((hunk) => hunk.state === 'open');
        // From the end, so that the places before stay right.
        open.sort((a, b) => b.range.start.line - a.range.start.line || b.range.start.character - a.range.start.character);
        for (const { range, old, new: wanted } of open) {
            const count = old === '' ? 0 : old.split(/(?<=\n)/).length;
            // Lines put in at the end of a file stand at the end of its last line.
            const first = count === 0 && range.start.character > 0 ? range.start.line + 1 : range.start.line;
            lines.splice(first, count, wanted);
        }
        return lines.join('');
    }

    /** Shows the proposal for the file of the active editor. */
    async diff() {
        const file = vscode.window.activeTextEditor?.document.uri;
        if (!file || !this.files.has(file.toString())) {
            vscode.window.setStatusBarMessage('planwright: no hunks in this file', 4000);
            return;
        }
        const title = `${vscode.workspace.asRelativePath(file)}: proposal`;
        await vscode.commands.executeCommand('vscode.diff', file, file.with({ scheme: SCHEME }), title);
    }

    dispose() {
        this.provider.dispose();
        this.changed.dispose();
    }
}

module.exports = { Hunks };
