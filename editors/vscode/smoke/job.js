// The whole job in VS Code's own workbench, in a browser: goal, page, plan, approval, hunks, disk. Every wait is for
// something on the screen or on disk, with a deadline; a picture of each stage is left in the folder of the run.
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');

const [folder, address, browser] = process.argv.slice(2);
const file = path.join(folder, 'workspace/src/lib.rs');
const disk = () => fs.readFileSync(file, 'utf8');
const before = disk();

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const LENS = '.codelens-decoration a';

/** @param {import('playwright-core').Page} page */
async function job(page) {
    const began = Date.now();
    const stage = async (name) => {
        await page.screenshot({ path: path.join(folder, `${name}.png`) });
        console.log(`${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s  ${name}`);
    };
    const lens = (text) => page.locator(LENS, { hasText: text });
    /** So many hunks wait for a decision. */
    const waiting = (count) =>
        page.waitForFunction(
            ([all, count]) =>
                [...document.querySelectorAll(all)].filter((one) => one.textContent?.startsWith('Agent: accept')).length === count,
            [LENS, count],
        );
    const shows = (text) => page.locator('.monaco-editor .view-lines', { hasText: text }).first().waitFor();
    // A command is in the palette once the extension runs, and the palette does not look again by itself.
    const command = async (title) => {
        const row = page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
        for (let tries = 0; tries < 20; tries++) {
            await page.keyboard.press('F1');
            await page.locator('.quick-input-widget input').waitFor();
            await page.keyboard.type(title);
            if (await row.waitFor({ timeout: 1000 }).then(() => true, () => false)) {
                await row.click();
                return;
            }
            await page.keyboard.press('Escape');
        }
        throw new Error(`no command ${title}`);
    };
    const open = async (name) => {
        await page.keyboard.press('Control+p');
        await page.locator('.quick-input-widget input').waitFor();
        await page.keyboard.type(name);
        await page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first().click();
        await page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
    };

    await page.goto(address);
    await page.locator('.monaco-workbench .statusbar').waitFor({ timeout: 60000 });
    await open('lib.rs');
    await stage('1-started');

    await command('Agent: plan change…');
    await page.locator('.quick-input-widget', { hasText: 'What should change?' }).waitFor();
    await page.keyboard.type('Raise them');
    const asked = Date.now();
    await page.keyboard.press('Enter');
    await page.locator('.tab.active[data-resource-name="task.md"]').waitFor();
    console.log(`         the page opened after ${Date.now() - asked} ms`);
    await lens('Agent: approve r1').waitFor();
    await shows(/awaiting.approval/);
    await stage('2-page');

    await command('Agent: open the plan');
    await page.locator('.tab.active[data-resource-name$=".plan.md"]').waitFor();
    await lens('Agent: approve r1').waitFor();
    await stage('3-plan');
    await lens('Agent: approve r1').click();

    await open('lib.rs');
    await lens('Agent: accept').nth(2).waitFor();
    assert.strictEqual(disk(), before, 'nothing is written without a decision');
    await stage('4-hunks');
    await command('Agent: show the proposal for this file');
    await page.locator('.tab.active', { hasText: 'proposal' }).waitFor();
    await page.locator('.monaco-diff-editor .view-line', { hasText: '30' }).first().waitFor();
    await stage('5-diff');

    await page.locator('.tab', { hasText: /^lib\.rs/ }).click();
    await waiting(3);
    await lens('Agent: accept').first().click();
    await waiting(2);
    await lens('reject').first().click();
    await waiting(1);
    await lens('Agent: accept').click();
    await waiting(0);
    assert.strictEqual(disk(), before, 'the user saves, not the server');
    await stage('6-decided');

    await page.keyboard.press('Control+s');
    await page.locator('.tab.active.dirty').waitFor({ state: 'detached' });
    const expected = before.replace('    1\n', '    10\n').replace('    3\n', '    30\n');
    assert.strictEqual(disk(), expected);
    await stage('7-saved');
}

(async () => {
    const context = await chromium.launchPersistentContext(path.join(folder, 'profile'), {
        executablePath: browser, headless: true, viewport: { width: 1280, height: 800 }, args: FLAGS,
    });
    context.setDefaultTimeout(20000);
    const page = await context.newPage();
    try {
        await job(page);
    } catch (error) {
        await page.screenshot({ path: path.join(folder, 'failed.png') }).catch(() => {});
        console.error(error instanceof Error ? error.message : error);
        process.exitCode = 1;
    }
    // The extension's end is an orderly one only if its page says goodbye.
    await page.close({ runBeforeUnload: true }).catch(() => {});
    await context.close();
})();
