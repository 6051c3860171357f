// The model's key: in VS Code's secret store, and from there in the environment of the server. Never in a file and
// never in a setting.
'use strict';
const vscode = require('vscode');

const NAME = 'planwright.key';

class Keys {
    /** @param {vscode.SecretStorage} secrets */
    constructor(secrets) {
        this.secrets = secrets;
    }

    /** What the server's environment gets.
     * @returns {Promise<Record<string, string>>} */
    async environment() {
        const key = await this.secrets.get(NAME);
        const variable = vscode.workspace.getConfiguration('planwright').get('key.variable', 'OPENAI_API_KEY');
        return key ? { [variable]: key } : {};
    }

    /** Asks for the key and keeps it. `false` = it was not given. */
    async store() {
        const key = await vscode.window.showInputBox({
            prompt: "The model's key; it is kept in VS Code's secret store",
            password: true,
            ignoreFocusOut: true,
        });
        if (!key?.trim()) {
            return false;
        }
        await this.secrets.store(NAME, key.trim());
        return true;
    }

    /** Forgets the key. */
    async forget() {
        await this.secrets.delete(NAME);
        return true;
    }
}

module.exports = { Keys };
