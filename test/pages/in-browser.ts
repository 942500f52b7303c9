import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { expect } from 'vitest';
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

let shared: Promise<Browser> | undefined;

/**
 * Starts Chromium. Returns undefined if Chromium is not installed. A start takes more than a second of CPU time, so the
 * test files of a process share one Chromium. This Chromium ends with the process.
 */
export async function startChromium(): Promise<Browser | undefined> {
  const executablePath = findChromium();
  if (executablePath === undefined) return undefined;
  // After a crash of Chromium, the next test file starts a new one.
  if (shared && !(await shared).isConnected()) shared = undefined;
  // A test of the audit log sends SIGHUP to its own process. Chromium must stay open.
  shared ??= chromium.launch({ executablePath, args: launchOptions, handleSIGHUP: false });
  return shared;
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

/** What a person does with the keyboard. `open` presses a key that opens another page, and waits for the page. */
type KeyboardAct = { press: string } | { type: string } | { open: string };

/**
 * Presses Tab until an element has the focus, then acts. Fails if Tab does not reach the element, or if nothing shows the
 * focus.
 */
export async function reach(page: Page, target: Locator, act: KeyboardAct) {
  await target.waitFor();
  let isReached = false;
  for (let presses = 0; !isReached && presses < 60; presses++) {
    await page.keyboard.press('Tab');
    isReached = await target.evaluate(it => it.matches(':focus'));
  }
  const outline = await target.evaluate(it => Reflect.get(globalThis, 'getComputedStyle')(it).outlineStyle);
  expect([String(target), isReached, outline]).toEqual([String(target), true, 'solid']);
  if ('open' in act) await Promise.all([page.waitForEvent('load'), page.keyboard.press(act.open)]);
  else if ('press' in act) await page.keyboard.press(act.press);
  else await page.keyboard.type(act.type);
}

/** The minified source of axe-core. Each page parses the source, and axe.source is twice as long. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The languages of the pages. A test that checks many pages alternates them. */
const languages = ['en', 'de'];

/** How a test checks its nth page: the language changes with every page, and the screen with every second page. */
export function viewOf(index: number): { language: string; screen: Screen } {
  const screen = screens[Math.floor(index / languages.length) % screens.length] as Screen;
  return { language: languages[index % languages.length] as string, screen };
}

/**
 * Opens a document into which a test copies pages to check them with axe-core. Loading axe-core into each page takes more
 * CPU time than the check. The style sheet applies to the copies, but no script runs.
 */
export async function openChecker(context: BrowserContext, baseUrl: string) {
  const page = await context.newPage();
  await page.goto(`${baseUrl}/sign-in`);
  await page.evaluate(axeSource);
  let current: Screen | undefined;
  return {
    async show(html: string) {
      await page.evaluate(`(${copyDocument})(${JSON.stringify(html)})`);
    },
    async turn(screen: Screen) {
      if (screen === current) return;
      current = screen;
      await page.setViewportSize({ width: screen.width, height: 844 });
      await page.emulateMedia({ colorScheme: screen.colorScheme });
    },
    links: () =>
      page.locator('main a[href], header a[href]').evaluateAll(all => all.map(one => one.getAttribute('href') ?? '')),
    violations: (options?: { ofColors: boolean }) => violationsOf(page, options),
    overflow: () => overflowOf(page),
  };
}

/** Replaces the document, and waits for its style sheet. This code runs in the browser. */
const copyDocument = `async html => {
  const copy = new DOMParser().parseFromString(html, 'text/html');
  document.documentElement.replaceWith(document.adoptNode(copy.documentElement));
  for (const link of document.querySelectorAll('link[rel=stylesheet]')) {
    if (!link.sheet) await new Promise(resolve => link.addEventListener('load', resolve));
  }
}`;

/** Returns the accessibility violations on a page or in a frame: rules and elements. With `ofColors`, checks only the colors. */
export async function violationsOf(page: Pick<Page, 'evaluate'>, { ofColors = false } = {}): Promise<string[]> {
  const rules = ofColors ? ", runOnly: ['color-contrast']" : '';
  // This code can run on every page, because the content security policy of a page does not restrict code from the
  // debugger.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axeSource);
  // Returns only texts, because the browser would take longer to send all results of axe-core than to check the page.
  return page.evaluate(`axe.run(document, { preload: false, resultTypes: ['violations']${rules} }).then(${describe})`);
}

/** Describes the violations that axe-core found. This code runs in the browser. */
const describe = `({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | '))`;

/** Returns by how many pixels a page is wider than the screen or its frame. */
export function overflowOf(page: Pick<Page, 'evaluate'>): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
