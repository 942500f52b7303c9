import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium } from '../client/runtimes.ts';

const launchOptions = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts Chromium; undefined where there is none, which is said in a line. */
export async function startChromium(): Promise<Browser | undefined> {
  const executablePath = findChromium();
  return executablePath === undefined ? undefined : chromium.launch({ executablePath, args: launchOptions });
}

export interface Screen {
  width: number;
  colorScheme: 'light' | 'dark';
}

/** What a reader may have before them: each width and each scheme once, since neither changes what the other does. */
export const screens: Screen[] = [
  { width: 390, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
];

/** Opens a page on a screen, and notes what the browser complains of: what the policy refuses, what is missing. */
export async function openPage(browser: Browser, screen: Screen, options: BrowserContextOptions = {}) {
  const { width, colorScheme } = screen;
  const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(String(error)));
  return { page, complaints, close: () => context.close() };
}

/** Half as long as axe.source, and each page reads it anew. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What axe-core finds wrong with a page, each as the rule and the elements. Of what was found to be right already, on
 * another screen, the colors alone can be asked for.
 */
export async function violationsOf(page: Page, { ofColors = false } = {}): Promise<string[]> {
  const rules = ofColors ? ", runOnly: ['color-contrast']" : '';
  // By the debugger, which the content security policy of the page does not bind.
  await page.evaluate(`globalThis.axe ?? ${axeSource}`);
  const results = (await page.evaluate(
    `axe.run(document, { preload: false, resultTypes: ['violations']${rules} })`,
  )) as axe.AxeResults;
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

/** How far a page is wider than the screen. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
