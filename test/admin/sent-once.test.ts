import { expect, test } from 'vitest';
import { createWorld, insertIdea } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { addWebhook } from '../helpers/webhooks.ts';
import { enrol } from './authenticator.ts';
import { type Fields, givePassword, hiddenFields, type Seen, signedIn, Visitor } from './visitor.ts';

const server = await startServerForFile({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);
const ideaId = await insertIdea(server, world);
const { id: webhookId } = await addWebhook(server, world, { url: 'http://127.0.0.1:9/hook' });

interface Case {
  /** The path of the page. It is also the target of its form, unless `action` names another path. */
  page: string;
  action?: string;
  fields: () => Record<string, string>;
  /** Invalid values of fields. The server refuses a form that contains them. */
  wrong: Record<string, string>;
  /** The HTTP status of a successful response. */
  done: number;
  left: () => Promise<unknown>;
}

const count = async (table: string) => (await server.sql(`select from ${table}`)).length;

let invited = 0;

const forms: Record<string, Case> = {
  'an API token': {
    page: '/admin/tokens',
    fields: () => ({ name: 'Support bot', [`level_${world.boardId}`]: 'read' }),
    wrong: { name: '' },
    done: 201,
    left: () => count('api_tokens'),
  },
  'a webhook': {
    page: '/admin/webhooks',
    fields: () => ({ url: 'http://127.0.0.1:9/more' }),
    wrong: { url: 'nowhere' },
    done: 201,
    left: () => count('webhook_endpoints'),
  },
  'an invitation without a mail server': {
    page: '/admin/members/invitations',
    fields: () => ({ email: `new-${invited++}@example.com`, role: 'member' }),
    wrong: { email: 'no address' },
    done: 201,
    left: () => count('invitations'),
  },
  'a note': {
    page: `/admin/ideas/${ideaId}`,
    action: `/admin/ideas/${ideaId}/notes`,
    fields: () => ({ body: 'Three customers asked.' }),
    wrong: { body: ' ' },
    done: 303,
    left: () => count('idea_notes'),
  },
  'a chat channel': {
    page: '/admin/chat',
    fields: () => ({ kind: 'mattermost', board: world.boardSlug, url: 'http://127.0.0.1:9/hooks/k' }),
    wrong: { kind: 'smoke' },
    done: 303,
    left: () => count('chat_channels'),
  },
};

const sendAll = (path: string, fields: Fields) => Promise.all([1, 2, 3].map(() => visitor.post(path, fields)));

test.each(Object.keys(forms))('%s is created only once if its form is sent several times', async name => {
  const { page, action = page, fields, wrong, done, left } = forms[name] as Case;
  const hidden = hiddenFields((await visitor.get(page)).html, action);
  const before = Number(await left());
  // After a validation error, the person can correct the form and send it again.
  expect((await visitor.post(action, { ...hidden, ...fields(), ...wrong })).status).toBe(422);
  const answers = [
    ...(await sendAll(action, { ...hidden, ...fields() })),
    await visitor.post(action, { ...hidden, ...fields() }),
  ];
  expect(answers.map(answer => answer.status).sort()).toEqual([done, 409, 409, 409].sort());
  for (const { status, html } of answers)
    if (status === 409) expect(html).toContain('This form was sent twice but ran only once');
  expect(await left()).toBe(before + 1);
  // The form on the error page has a new form_id.
  const refused = answers.find(({ status }) => status === 409)?.html ?? '';
  expect((await visitor.post(action, { ...hiddenFields(refused, action), ...fields() })).status).toBe(done);
  expect(await left()).toBe(before + 2);
});

test("if the form that rotates a webhook's secret is sent three times, the secret changes only once, and the old secret stays valid", async () => {
  const path = `/admin/webhooks/${webhookId}/rotate-secret`;
  const read = () =>
    server.sql('select secret, previous_secret from webhook_endpoints where id = $1', [webhookId]) as Promise<
      { secret: Buffer; previous_secret: Buffer | null }[]
    >;
  const [before] = await read();
  const hidden = hiddenFields((await visitor.get(path)).html, path);
  const answers = await sendAll(path, { ...hidden, overlap_hours: '24' });
  expect(answers.map(answer => answer.status).sort()).toEqual([200, 409, 409]);
  const [after] = await read();
  expect(after?.previous_secret).toEqual(before?.secret);
  expect(after?.secret).not.toEqual(before?.secret);
});

test('if the form for a new API token is sent without a form_id, the server creates no token and shows the form again', async () => {
  const before = await count('api_tokens');
  const { form_token = '' } = hiddenFields((await visitor.get('/admin/tokens')).html, '/admin/tokens');
  const fields = (forms['an API token'] as Case).fields();
  const answer = await visitor.post('/admin/tokens', { ...fields, form_token });
  expect([answer.status, answer.html.includes('Send the form again from this page')]).toEqual([409, true]);
  expect(await count('api_tokens')).toBe(before);
});

test("the page that confirms the deletion of a webhook shows the webhook's URL, but no text from the query string of the request", async () => {
  const { html } = await visitor.get(`/admin/webhooks/${webhookId}/delete?guess=chosen-text`);
  expect([html.includes('http://127.0.0.1:9/hook'), html.includes('chosen-text')]).toEqual([true, false]);
});

test('a page that shows a new secret is not compressed, so the length of the response reveals nothing about the secret', async () => {
  const shown: Seen[] = [];
  class Recorder extends Visitor {
    override async post(...sent: Parameters<Visitor['post']>) {
      const answer = await super.post(...sent);
      if (answer.location === null) shown.push(answer);
      return answer;
    }
  }
  const { email, password } = await givePassword(server, world.ownerId);
  const ada = new Recorder(server, { 'accept-encoding': 'br, gzip' });
  await ada.signIn(email, password);
  expect((await ada.get('/admin/tokens')).headers.get('content-encoding')).toBe('gzip');
  await ada.submit('/admin/tokens', '/admin/tokens', { name: 'Bot', [`level_${world.boardId}`]: 'read' });
  await ada.submit('/admin/webhooks', '/admin/webhooks', { url: 'http://127.0.0.1:9/another' });
  const { id } = await addWebhook(server, world, { url: 'http://127.0.0.1:9/rotated' });
  const rotation = `/admin/webhooks/${id}/rotate-secret`;
  await ada.submit(rotation, rotation, { overlap_hours: '24' });
  await ada.submit('/admin/account/embedding', '/admin/account/embedding/secrets');
  const invitations = '/admin/members/invitations';
  await ada.submit(invitations, invitations, { email: 'new@example.com', role: 'member' });
  // enrol() opens two pages with secrets: one with the secret of the authenticator app, and one with the recovery
  // codes.
  await enrol(ada, password, server.dependencies.clock);
  const headings = ['The new token', 'The new webhook', 'The new secret', 'The new secret'];
  headings.push('The link of the invitation', 'Turn on two-factor sign-in', 'Your recovery codes');
  const found = shown.map(({ html, headers }) => [/<h1>(.*?)<\/h1>/.exec(html)?.[1], headers.get('content-encoding')]);
  expect(found).toEqual(headings.map(heading => [heading, null]));
});
