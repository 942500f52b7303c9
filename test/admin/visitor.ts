import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { setPassword } from '../../server/domain/sign-in/set-password.ts';
import { operatorIn } from '../helpers/administration.ts';
import type { TestServer } from '../helpers/server.ts';

type Visited = Pick<TestServer, 'baseUrl'> & Partial<Pick<TestServer, 'config'>>;

/** The response to one request of a simulated browser, which does not follow redirects. */
export interface Seen {
  status: number;
  headers: Headers;
  html: string;
  /** The Location header of a redirect. */
  location: string | null;
}

/** The fields of a form. A list of pairs can contain the same field name several times. */
export type Fields = Record<string, string> | [name: string, value: string][];

interface Sending {
  headers?: Record<string, string>;
}

/** Simulates a browser without JavaScript, which keeps cookies and sends forms with their hidden fields. */
export class Visitor {
  readonly cookies = new Map<string, string>();
  readonly #server: Visited;
  readonly #headers: Record<string, string>;

  constructor(server: Visited, headers: Record<string, string> = {}) {
    this.#server = server;
    this.#headers = headers;
  }

  get(path: string, { headers = {} }: Sending = {}): Promise<Seen> {
    return this.#send(path, { headers });
  }

  /** Sends fields in the way that a browser sends a form of this server. A browser sends line breaks as CRLF. */
  post(path: string, fields: Fields, { headers = {} }: Sending = {}): Promise<Seen> {
    const pairs = Array.isArray(fields) ? fields : Object.entries(fields);
    return this.#send(path, {
      method: 'POST',
      headers: { origin: originOf(this.#server), ...headers },
      body: new URLSearchParams(
        pairs.map(([name, value]) => [name, value.replaceAll(/\r?\n/g, '\r\n')] as [string, string]),
      ),
    });
  }

  /** Sends a form with a file in the way that a browser does. */
  sendForm(path: string, body: FormData | string, { headers = {} }: Sending = {}): Promise<Seen> {
    return this.#send(path, { method: 'POST', headers: { origin: originOf(this.#server), ...headers }, body });
  }

  /** Opens a page, fills in the form with this action, and sends it. */
  async submit(page: string, action: string, fields: Record<string, string> = {}): Promise<Seen> {
    const { html, status } = await this.get(page);
    expect(status, page).toBe(200);
    return this.post(action, { ...hiddenFields(html, action), ...fields });
  }

  signIn(email: string, password: string, next = ''): Promise<Seen> {
    return this.post('/sign-in', { email, password, next });
  }

  /** Opens a page, and sends the form with this action. Returns the response while its body may still arrive. */
  async submitForFile(page: string, action: string): Promise<Response> {
    const { html } = await this.get(page);
    const headers = { origin: originOf(this.#server) };
    return this.#fetch(action, { method: 'POST', headers, body: new URLSearchParams(hiddenFields(html, action)) });
  }

  async #send(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Seen> {
    const response = await this.#fetch(path, init);
    const { status, headers } = response;
    return { status, headers, html: await response.text(), location: headers.get('location') };
  }

  async #fetch(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.#server.baseUrl + path, {
      ...init,
      headers: { ...this.#headers, ...(cookie ? { cookie } : {}), ...init.headers },
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  #keep(line: string) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

/** Returns BASE_URL if it is set, and otherwise the address of the server. */
function originOf({ baseUrl, config }: Visited): string {
  return config?.isBaseUrlSet ? config.BASE_URL : baseUrl;
}

/** Returns the hidden fields of the form with this action, or of the form without an action. */
export function hiddenFields(html: string, action: string): Record<string, string> {
  const forms = html.split('<form ').slice(1);
  const find = (isWanted: (tag: string) => boolean) => forms.find(one => isWanted(one.split('>', 1)[0] ?? ''));
  const form =
    find(tag => tag.includes(`action="${action.replaceAll('&', '&amp;')}"`)) ??
    find(tag => tag.startsWith('method="post"') && !tag.includes('action='));
  expect(form, `a form to ${action} in ${html}`).toBeDefined();
  const inputs = form?.split('</form>', 1)[0]?.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g) ?? [];
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]));
}

/** Returns a page without its form_tokens, which differ in each response. */
export function withoutTokens(html: string): string {
  return html.replaceAll(/(?<=name="form_token" value=")[^"]+/g, '');
}

export interface Person {
  email: string;
  password: string;
}

/** Gives a user a password, and returns the data that the user signs in with. */
export async function givePassword(server: TestServer, userId: number): Promise<Person> {
  const password = randomBytes(12).toString('base64url');
  const { passwords } = server.dependencies;
  const credential = await passwords.hash(password);
  await server.database.transaction(transaction =>
    setPassword(operatorIn(transaction, server.dependencies.clock.now()), userId, credential),
  );
  return { email: await emailOf(server, userId), password };
}

export async function emailOf({ sql }: TestServer, userId: number): Promise<string> {
  const [user] = await sql<{ email: string }>('select email from users where id = $1', [userId]);
  return user?.email ?? '';
}

/** Signs a user in, and returns the browser. */
export async function signedIn(server: TestServer, userId: number): Promise<Visitor> {
  const { email, password } = await givePassword(server, userId);
  const visitor = new Visitor(server);
  expect((await visitor.signIn(email, password)).status).toBe(303);
  return visitor;
}
