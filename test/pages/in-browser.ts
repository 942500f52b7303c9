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
 * Starts Chromium, or returns undefined if Chromium is not installed. Starting Chromium takes more than a second of CPU
 * time, so the test files of a process share one Chromium. The shared Chromium ends together with the process.
 */
export async function startChromium(): Promise<Browser | undefined> {
  const executablePath = findChromium();
  if (executablePath === undefined) return undefined;
  // If Chromium has crashed, the next test file starts a new Chromium.
  if (shared && !(await shared).isConnected()) shared = undefined;
  // Chromium must stay open when a test of the audit log sends SIGHUP to the test process.
  shared ??= chromium.launch({ executablePath, args: launchOptions, handleSIGHUP: false });
  return shared;
}

export interface Screen {
  width: number;
  colorScheme: 'light' | 'dark';
}

/**
 * The tests do not combine every width with every color scheme, because layout and colors do not depend on each other.
 */
export const screens: Screen[] = [
  { width: 360, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
];

/**
 * Opens a page with this width and color scheme. Records the browser's messages, such as messages about policy
 * violations.
 */
export async function openPage(browser: Browser, screen: Screen, options: BrowserContextOptions = {}) {
  const { width, colorScheme } = screen;
  const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', message => complaints.push(message.text()));
  page.on('pageerror', error => complaints.push(String(error)));
  return { page, complaints, close: () => context.close() };
}

/** An action of a person with the keyboard. `open` presses a key that opens another page, and waits for that page. */
type KeyboardAct = { press: string } | { type: string } | { open: string };

/**
 * Presses Tab until an element has the focus, then performs an action. Fails if Tab does not reach the element, or if
 * the page does not show that the element has the focus.
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

/** The minified source of axe-core. Each page must parse this source, and the text in axe.source is twice as long. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The languages of the pages. A test that checks many pages alternates between these languages. */
const languages = ['en', 'de'];

/**
 * Returns the language and the screen for a test's nth page. The language changes with every page, and the screen with
 * every second page.
 */
export function viewOf(index: number): { language: string; screen: Screen } {
  const screen = screens[Math.floor(index / languages.length) % screens.length] as Screen;
  return { language: languages[index % languages.length] as string, screen };
}

/**
 * Opens a document into which a test copies pages to check them with axe-core. Loading axe-core into each page would
 * take more CPU time than the check. The copied pages have their style sheet, but their scripts do not run.
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

/**
 * Code that the browser runs. It replaces the document with a copy of a page, and waits for the style sheet of the
 * page.
 */
const copyDocument = `async html => {
  const copy = new DOMParser().parseFromString(html, 'text/html');
  document.documentElement.replaceWith(document.adoptNode(copy.documentElement));
  for (const link of document.querySelectorAll('link[rel=stylesheet]')) {
    if (!link.sheet) await new Promise(resolve => link.addEventListener('load', resolve));
  }
}`;

/**
 * Returns the accessibility violations on a page or in a frame, each with its rule and elements. If `ofColors` is true,
 * checks only the colors.
 */
export async function violationsOf(page: Pick<Page, 'evaluate'>, { ofColors = false } = {}): Promise<string[]> {
  const rules = ofColors ? ", runOnly: ['color-contrast']" : '';
  // This code can run on every page, because the content security policy of a page does not restrict code from the
  // debugger.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axeSource);
  // Returns only texts, because sending all results of axe-core from the browser would take longer than the check
  // itself.
  return page.evaluate(`axe.run(document, { preload: false, resultTypes: ['violations']${rules} }).then(${describe})`);
}

/** Code that the browser runs. It describes the violations that axe-core found. */
const describe = `({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | '))`;

/** Returns by how many pixels a page is wider than the screen or its frame. */
export function overflowOf(page: Pick<Page, 'evaluate'>): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
