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

/** Starts Chromium. Returns undefined if Chromium is not installed. */
export async function startChromium(): Promise<Browser | undefined> {
  const executablePath = findChromium();
  return executablePath === undefined ? undefined : chromium.launch({ executablePath, args: launchOptions });
}

export interface Screen {
  width: number;
  colorScheme: 'light' | 'dark';
}

/** Each width and each color scheme occurs only once, because layout and colors do not depend on each other. */
export const screens: Screen[] = [
  { width: 360, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
];

/** Opens a page with this width and color scheme, and records the browser's messages, such as policy violations. */
export async function openPage(browser: Browser, screen: Screen, options: BrowserContextOptions = {}) {
  const { width, colorScheme } = screen;
  const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(String(error)));
  return { page, complaints, close: () => context.close() };
}

/** The minified source of axe-core. Each page parses it, and it is half as long as axe.source. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns the accessibility violations on a page or in a frame: rules and elements. With `ofColors`, checks only the colors. */
export async function violationsOf(page: Pick<Page, 'evaluate'>, { ofColors = false } = {}): Promise<string[]> {
  const rules = ofColors ? ", runOnly: ['color-contrast']" : '';
  // The content security policy of the page allows this code, because the policy does not apply to the debugger.
  await page.evaluate(`globalThis.axe ?? ${axeSource}`);
  const results = (await page.evaluate(
    `axe.run(document, { preload: false, resultTypes: ['violations']${rules} })`,
  )) as axe.AxeResults;
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

/** Returns by how many pixels a page is wider than the screen or its frame. */
export function overflowOf(page: Pick<Page, 'evaluate'>): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
