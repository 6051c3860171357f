// planwright in VS Code: starts the server, asks for words, and shows what stock LSP cannot.
//
// All knowledge of tasks, plans and hunks is the server's. Nothing is shown in front of the user's text but in answer
// to a command of theirs; progress is a toast with a cancel button.
'use strict';
const vscode = require('vscode');
const { LanguageClient, State } = require('vscode-languageclient/node');
const { Asks } = require('./asks');
const { Hunks } = require('./hunks');
const { Keys } = require('./keys');
const { Pages } = require('./pages');
const { Tasks } = require('./tasks');
const { progress } = require('./progress');
const words = require('./words');

/** @type {LanguageClient | undefined} */
let client;

/** The first folder: a server serves one root. */
function root() {
    return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === 'file');
}

/** @param {Keys} keys */
async function make(keys) {
    const folder = root();
    if (!folder) {
        return undefined;
    }
    const command = vscode.workspace.getConfiguration('planwright').get('server.path', 'planwright');
    const env = { ...process.env, ...(await keys.environment()) };
    /** @type {import('vscode-languageclient/node').LanguageClientOptions} */
    const options = {
        documentSelector: [{ scheme: 'file' }],
        workspaceFolder: folder,
        // Hunks, tasks and questions come as notifications, and words are asked for here.
        initializationOptions: { glue: true, goalInput: true },
        middleware: {
            handleWorkDoneProgress: (token, params) => progress(client, token, params),
            executeCommand: words.ask,
        },
    };
    return new LanguageClient('planwright', 'planwright', { command, args: ['lsp'], options: { env } }, options);
}

/** @param {vscode.ExtensionContext} context */
async function activate(context) {
    const keys = new Keys(context.secrets);
    const asks = new Asks();
    const hunks = new Hunks();
    const pages = new Pages();
    const tasks = new Tasks();
    context.subscriptions.push(asks, hunks, pages, tasks);

    const start = async () => {
        client = await make(keys);
        if (!client) {
            return;
        }
        client.onDidChangeState(({ newState }) => {
            const running = newState === State.Running;
            vscode.commands.executeCommand('setContext', 'planwright.running', running);
            if (!running) {
                for (const shown of [asks, hunks, tasks]) shown.clear();
            }
        });
        client.onNotification('planwright/ask', (said) => asks.update(said));
        client.onNotification('planwright/hunks', (said) => hunks.update(said));
        client.onNotification('planwright/tasks', (said) => {
            tasks.update(said);
            pages.changed();
        });
        try {
            await client.start();
        } catch (error) {
            const open = 'Open settings';
            const chosen = await vscode.window.showErrorMessage(
                `planwright does not start: ${error instanceof Error ? error.message : error}. Is the program installed?`,
                open,
            );
            if (chosen === open) {
                vscode.commands.executeCommand('workbench.action.openSettings', 'planwright.server.path');
            }
        }
    };
    const restart = async () => {
        await client?.dispose();
        await start();
    };

    /** @type {Record<string, (...args: any[]) => unknown>} */
    const commands = {
        waiting: () => asks.pick(),
        tasks: () => tasks.pick(),
        diff: () => hunks.diff(),
        key: async () => (await keys.store()) && restart(),
        forgetKey: async () => (await keys.forget()) && restart(),
        restart,
    };
    for (const name of ['plan', 'changeItem', 'ask']) {
        commands[name] = () => vscode.commands.executeCommand(`planwright.${name}`, words.place(root()));
    }
    for (const name of ['say', 'revise']) {
        commands[name] = () => vscode.commands.executeCommand(`planwright.${name}`);
    }
    for (const [name, run] of Object.entries(commands)) {
        context.subscriptions.push(vscode.commands.registerCommand(`planwrightUi.${name}`, run));
    }
    context.subscriptions.push(
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration('planwright.server.path')) restart();
        }),
    );
    await start();
}

/** @returns {Promise<void> | undefined} */
function deactivate() {
    return client?.dispose();
}

module.exports = { activate, deactivate };
