import { type HTMLElement, parse } from 'node-html-parser';
import type { Browser } from 'playwright-core';
import { expect } from 'vitest';
import type { TestServer } from '../helpers/server.ts';
import { type Seen, Visitor } from './visitor.ts';

/**
 * Simulates a person who finds links and buttons by their text, and form fields by their labels. A part of the text or
 * label is sufficient. If several elements match, the person uses the first element.
 */
export interface Person {
  goto(path: string): Promise<void>;
  follow(link: string): Promise<void>;
  fill(label: string, value: string): Promise<void>;
  choose(label: string, option: string): Promise<void>;
  press(button: string): Promise<void>;
  /** Returns the text of the page. */
  read(): Promise<string>;
  /** Returns the text of the element with this label. */
  readLabelled(label: string): Promise<string>;
  path(): string;
  leave(): Promise<void>;
}

type Server = Pick<TestServer, 'baseUrl'>;

export async function personInBrowser(browser: Browser, server: Server, javaScriptEnabled: boolean): Promise<Person> {
  const context = await browser.newContext({ baseURL: server.baseUrl, javaScriptEnabled });
  const page = await context.newPage();
  return {
    goto: async path => {
      await page.goto(path);
    },
    follow: link => page.getByRole('link', { name: link }).first().click(),
    fill: (label, value) => page.getByLabel(label).first().fill(value),
    choose: async (label, option) => {
      await page.getByLabel(label).first().selectOption(option);
    },
    press: button => page.getByRole('button', { name: button }).first().click(),
    read: async () => {
      // A click returns when the next page begins to load.
      await page.waitForLoadState();
      return page.getByRole('main').innerText();
    },
    readLabelled: async label => (await page.getByLabel(label, { exact: true }).textContent()) ?? '',
    path: () => pathOf(page.url()),
    leave: () => context.close(),
  };
}

/** Simulates a person without a browser: reads pages and sends forms over HTTP. */
export function personOverHttp(server: Server): Person {
  const visitor = new Visitor(server);
  let address = server.baseUrl;
  let page = parse('');

  async function arrive(path: string, seen: Seen) {
    let [at, answer] = [path, seen];
    for (let hops = 0; answer.location !== null; hops++) {
      expect(hops).toBeLessThan(5);
      at = pathOf(new URL(answer.location, server.baseUrl + at).href);
      answer = await visitor.get(at);
    }
    address = server.baseUrl + at;
    page = parse(answer.html);
  }

  const goto = async (path: string) => arrive(path, await visitor.get(path));
  const pathTo = (reference: string) => pathOf(new URL(reference.replaceAll('&amp;', '&'), address).href);

  function named(selector: string, name: string): HTMLElement {
    const found = page.querySelectorAll(selector).find(one => includes(nameOf(one), name));
    if (!found) throw new Error(`There is no ${selector} with the name ${name} at ${address}: ${textOf(page)}`);
    return found;
  }

  function labelled(label: string): HTMLElement {
    const byAttribute = page.querySelectorAll('[aria-label]').find(one => one.getAttribute('aria-label') === label);
    const id = byAttribute ? undefined : named('label', label).getAttribute('for');
    const found = byAttribute ?? page.querySelector(`[id="${id}"]`) ?? named('label', label).querySelector('input');
    if (!found) throw new Error(`The label ${label} at ${address} is of nothing`);
    return found;
  }

  return {
    goto,
    follow: link => goto(pathTo(named('a', link).getAttribute('href') ?? '')),
    async fill(label, value) {
      const field = labelled(label);
      if (field.rawTagName === 'textarea') field.textContent = value;
      else field.setAttribute('value', value);
    },
    async choose(label, option) {
      const options = labelled(label).querySelectorAll('option');
      const chosen = options.find(one => textOf(one) === option || one.getAttribute('value') === option);
      if (!chosen) throw new Error(`${label} at ${address} has no option ${option}`);
      for (const one of options) one.removeAttribute('selected');
      chosen.setAttribute('selected', '');
    },
    async press(button) {
      const pressed = named('button', button);
      const form = pressed.closest('form');
      if (!form) throw new Error(`The button ${button} at ${address} is in no form`);
      const target = pressed.getAttribute('formaction') ?? form.getAttribute('action') ?? '';
      const path = target === '' ? pathOf(address) : pathTo(target);
      const fields = fieldsOf(form, pressed);
      if (form.getAttribute('method') === 'post') return arrive(path, await visitor.post(path, fields));
      return goto(`${path.split('?')[0]}?${new URLSearchParams(fields)}`);
    },
    read: async () => textOf(page.querySelector('main') ?? page),
    readLabelled: async label => textOf(labelled(label)),
    path: () => pathOf(address),
    leave: async () => {},
  };
}

/** Returns the fields that a browser sends when this button of the form is pressed. */
function fieldsOf(form: HTMLElement, pressed: HTMLElement): [string, string][] {
  const fields: [string, string][] = [];
  for (const field of [...form.querySelectorAll('input, select, textarea'), pressed]) {
    const name = field.getAttribute('name');
    const type = field.getAttribute('type');
    if (name === undefined || field.hasAttribute('disabled')) continue;
    if ((type === 'checkbox' || type === 'radio') && !field.hasAttribute('checked')) continue;
    fields.push([name, sentValueOf(field)]);
  }
  return fields;
}

function sentValueOf(field: HTMLElement): string {
  if (field.rawTagName === 'textarea') return field.textContent;
  if (field.rawTagName !== 'select') {
    return field.getAttribute('value') ?? (field.getAttribute('type') === 'checkbox' ? 'on' : '');
  }
  const chosen = field.querySelector('option[selected]') ?? field.querySelector('option');
  return chosen ? (chosen.getAttribute('value') ?? textOf(chosen)) : '';
}

function nameOf(element: HTMLElement): string {
  return element.getAttribute('aria-label') ?? textOf(element);
}

function textOf(element: HTMLElement): string {
  return element.textContent.replaceAll(/\s+/g, ' ').trim();
}

function includes(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}
