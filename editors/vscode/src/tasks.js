// Tasks as the server told them last: a status bar item, and a picker that opens a task's page.
'use strict';
const vscode = require('vscode');

/** @typedef {{ task: string, goal: string, words: string, waits: boolean, page?: string | null }} Task */

class Tasks {
    constructor() {
        /** @type {Task[]} */
        this.tasks = [];
        this.item = vscode.window.createStatusBarItem('planwright.tasks', vscode.StatusBarAlignment.Left, 2);
        this.item.name = 'planwright: tasks';
        this.item.command = 'planwrightUi.tasks';
    }

    /** @param {{ tasks: Task[] }} said */
    update(said) {
        this.tasks = said.tasks;
        const [first] = this.tasks;
        if (!first) {
            this.item.hide();
            return;
        }
        this.item.text = `$(checklist) ${this.tasks.length === 1 ? first.words : `${this.tasks.length} tasks`}`;
        this.item.tooltip = this.tasks.map((task) => `${task.task}: ${task.words}, ${task.goal}`).join('\n');
        this.item.show();
    }

    clear() {
        this.update({ tasks: [] });
    }

    async pick() {
        const picked = await vscode.window.showQuickPick(
            this.tasks.map((task) => ({
                label: `${task.waits ? '$(circle-filled) ' : ''}${task.goal}`,
                description: `${task.task} · ${task.words}`,
                task,
            })),
            { title: 'Tasks', placeHolder: this.tasks.length === 0 ? 'none yet' : undefined },
        );
        if (picked?.task.page) {
            await vscode.window.showTextDocument(vscode.Uri.parse(picked.task.page));
        } else if (picked) {
            await vscode.commands.executeCommand('planwright.openPlan', { task: picked.task.task });
        }
    }

    dispose() {
        this.item.dispose();
    }
}

module.exports = { Tasks };
