// Progress of the server as a toast with a cancel button: by itself the language client shows it in the status bar,
// where nobody finds the button.
'use strict';
const vscode = require('vscode');
const { WorkDoneProgressCancelNotification } = require('vscode-languageclient/node');

/** A second is short enough to need no toast.
 * @type {number} */
const SHOWN_AFTER = 1000;

/** What is shown or about to be, by token.
 * @type {Map<string | number, { report?: (step: { message?: string, increment?: number }) => void, last?: string, done: number, end: () => void }>} */
const shown = new Map();

/** @param {import('vscode-languageclient/node').LanguageClient | undefined} client
 * @param {string | number} token
 * @param {any} params a begin, a report or an end */
function progress(client, token, params) {
    const known = shown.get(token);
    if (params.kind === 'end') {
        known?.end();
        shown.delete(token);
        return;
    }
    if (params.kind === 'report') {
        if (known) {
            const increment = params.percentage === undefined ? undefined : params.percentage - known.done;
            known.done = params.percentage ?? known.done;
            known.last = params.message ?? known.last;
            known.report?.({ message: known.last, increment });
        }
        return;
    }
    known?.end();
    /** @type {() => void} */
    let end = () => {};
    /** @type {Promise<void>} */
    const ended = new Promise((resolve) => (end = resolve));
    const entry = { last: params.message, done: params.percentage ?? 0, end, report: undefined };
    shown.set(token, entry);
    const timer = setTimeout(() => {
        const location = vscode.ProgressLocation.Notification;
        vscode.window.withProgress(
            { location, title: params.title, cancellable: params.cancellable === true },
            (toast, cancelled) => {
                const known = shown.get(token);
                if (known) {
                    known.report = (step) => toast.report(step);
                    known.report({ message: known.last, increment: known.done });
                }
                cancelled.onCancellationRequested(() =>
                    client?.sendNotification(WorkDoneProgressCancelNotification.type, { token }),
                );
                return ended;
            },
        );
    }, SHOWN_AFTER);
    ended.then(() => clearTimeout(timer));
}

module.exports = { progress };
