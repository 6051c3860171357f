// Pages that the server writes to disk while they are open. VS Code reads a clean file again when its watcher tells of a
// change; under Linux that watcher misses folders that are made together, as those of a workspace's first task are.
'use strict';
const vscode = require('vscode');

const PAGE = /\/\.planwright\/tasks\/[^/]+\/(task|review|timeline)\.md$/;

/** The page may be written a moment after the news of it.
 * @type {number[]} */
const LOOKS = [0, 300, 1000];

class Pages {
    constructor() {
        /** @type {NodeJS.Timeout[]} */
        this.timers = [];
        this.turned = vscode.window.onDidChangeActiveTextEditor(() => this.changed());
    }

    /** Something happened: the page that is looked at may be old. */
    changed() {
        this.timers.forEach(clearTimeout);
        this.timers = LOOKS.map((after) => setTimeout(() => this.read(), after));
    }

    /** Reads the active page again where the disk has another text and nobody has edited it. */
    async read() {
        const active = () => vscode.window.activeTextEditor?.document;
        const document = active();
        if (!document || document.uri.scheme !== 'file' || !PAGE.test(document.uri.path)) {
            return;
        }
        try {
            const disk = new TextDecoder().decode(await vscode.workspace.fs.readFile(document.uri));
            if (active() === document && !document.isDirty && disk !== document.getText()) {
                await vscode.commands.executeCommand('workbench.action.files.revert');
            }
        } catch {
            // It is gone from the disk; the tab shows that.
        }
    }

    dispose() {
        this.timers.forEach(clearTimeout);
        this.turned.dispose();
    }
}

module.exports = { Pages };
