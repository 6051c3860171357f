// Gates and questions that wait for a person: counted in the status bar, answered when picked there. Nothing pops up.
'use strict';
const vscode = require('vscode');

/** @typedef {{ title: string, command: string, arguments?: any[] }} Answer */
/** @typedef {{ task: string, gate?: string, question?: number, asked: string, detail?: string | null, answers: Answer[] }} Ask */

class Asks {
    constructor() {
        /** @type {Ask[]} */
        this.waiting = [];
        this.item = vscode.window.createStatusBarItem('planwright.asks', vscode.StatusBarAlignment.Left, 1);
        this.item.name = 'planwright: what waits for you';
        this.item.command = 'planwrightUi.waiting';
    }

    /** The whole of what waits, each time.
     * @param {{ gates: Ask[] }} said */
    update(said) {
        this.waiting = said.gates;
        const count = this.waiting.length;
        this.item.text = `$(question) ${count} to answer`;
        this.item.tooltip = this.waiting.map((ask) => `${ask.task}: ${ask.asked}`).join('\n');
        if (count > 0) this.item.show();
        else this.item.hide();
    }

    clear() {
        this.update({ gates: [] });
    }

    /** Closed without a choice, nothing was decided and it goes on waiting. */
    async pick() {
        if (this.waiting.length === 0) {
            vscode.window.setStatusBarMessage('planwright: nothing waits for an answer', 4000);
            return;
        }
        const asks = this.waiting.map((ask) => ({ label: ask.asked, description: ask.task, detail: ask.detail ?? undefined, ask }));
        const picked = asks.length === 1 ? asks[0] : await vscode.window.showQuickPick(asks, { title: 'What waits for you' });
        if (!picked) {
            return;
        }
        const answers = picked.ask.answers.map((answer) => ({ label: answer.title, answer }));
        const chosen = await vscode.window.showQuickPick(answers, { title: picked.label, placeHolder: picked.detail });
        if (chosen) {
            await vscode.commands.executeCommand(chosen.answer.command, ...(chosen.answer.arguments ?? []));
        }
    }

    dispose() {
        this.item.dispose();
    }
}

module.exports = { Asks };
