// Words that a command takes and was not given: asked for in an input box, so that every way to the command (palette,
// lens, code action) ends in the same one.
'use strict';
const vscode = require('vscode');

/** The field that the words go into, and what is asked.
 * @type {Record<string, { field: string, prompt: string }>} */
const TAKES = {
    plan: { field: 'goal', prompt: 'What should change?' },
    changeItem: { field: 'words', prompt: 'How should this item change?' },
    ask: { field: 'words', prompt: 'What do you want to know? Nothing is changed.' },
    say: { field: 'words', prompt: 'An instruction that reaches the next request' },
    revise: { field: 'words', prompt: 'How should the plan change?' },
    answer: { field: 'words', prompt: 'Your answer' },
};

/** Where the cursor or the selection is: the fields by which commands name a place, lines from 1. Empty in a file that
 * is not the server's.
 * @param {vscode.WorkspaceFolder | undefined} folder the server's */
function place(folder) {
    const editor = vscode.window.activeTextEditor;
    if (!folder || !editor || vscode.workspace.getWorkspaceFolder(editor.document.uri) !== folder) {
        return {};
    }
    const { start, end } = editor.selection;
    // A selection that ends where a line begins does not reach into it.
    const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
    return { path: vscode.workspace.asRelativePath(editor.document.uri, false), line: start.line + 1, last: last + 1 };
}

/** Commands that are about no task, or about a place. */
const OF_NO_TASK = ['plan', 'changeItem', 'fixProblem', 'ask', 'tasks', 'schema', 'doctor', 'clean', 'nextHunk', 'previousHunk'];

/** The task whose page or plan is looked at.
 * @param {string} name of a command */
function task(name) {
    const path = vscode.window.activeTextEditor?.document.uri.path ?? '';
    const found = /\/\.planwright\/tasks\/([^/]+)\/[^/]+$/.exec(path);
    return found && !OF_NO_TASK.includes(name) ? [{ task: found[1] }] : [];
}

/** Passes a command on to the server, with the words that it lacked. Nothing is passed on if none are given.
 * @param {string} command
 * @param {any[]} args
 * @param {(command: string, args: any[]) => import('vscode').ProviderResult<any>} next */
async function ask(command, args, next) {
    const name = command.replace(/^planwright\./, '');
    const takes = TAKES[name];
    if (args.length === 0) {
        args = task(name);
    }
    const fields = args[0];
    const named = typeof fields === 'object' && fields !== null;
    if (!takes || (named ? fields[takes.field] : args.length > 0)) {
        return next(command, args);
    }
    const words = (await vscode.window.showInputBox({ prompt: takes.prompt, ignoreFocusOut: true }))?.trim();
    return words ? next(command, [{ ...(named ? fields : {}), [takes.field]: words }]) : undefined;
}

module.exports = { ask, place };
