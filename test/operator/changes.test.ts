import { parse } from 'node-html-parser';
import { beforeEach, describe, expect, test } from 'vitest';
import { hiddenFields } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import { createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { waitingJobs } from '../helpers/jobs.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { signInOperator } from './operators.ts';

const clock = testClock('2026-03-02T09:00:00Z');
let world: World;
let slug: string;
let memberId: number;

const server = await startServerForFile({
  clock,
  environment: {
    RATE_LIMIT_SIGN_IN_SUCCESS: '1000',
    RATE_LIMIT_SIGN_IN_ACCOUNT: '1000',
    RATE_LIMIT_SIGN_IN_IP: '1000',
  },
});
const operator = await signInOperator(server);
beforeEach(async () => {
  world = await createWorld(server);
  memberId = await createMember(server, world.accountId, 'member', 'Mallory');
  slug = (await account()).slug;
  server.auditLines.length = 0;
});

async function account() {
  const [row] = await server.sql<{ slug: string; plan: string; deletion_scheduled_at: string | null }>(
    'select slug, plan, deletion_scheduled_at from accounts where id = $1',
    [world.accountId],
  );
  if (!row) throw new Error('The account is gone');
  return row;
}
async function requestedAt() {
  const [row] = await server.sql<{ at: string | null }>('select deletion_requested_at as at from users where id = $1', [
    memberId,
  ]);
  return row?.at;
}
const blocks = () => server.sql('select user_id, reason from user_blocks where account_id = $1', [world.accountId]);

/** Opens the page of a change and sends its form, by default with the operator's password. */
function change(path: string, fields: Record<string, string> = {}) {
  return operator.visitor.submit(path, path, { current_password: operator.password, ...fields });
}
const onAccount = (what: string) => `/operator/accounts/${world.accountId}/${what}`;
const onUser = (what: string) => `/operator/users/${memberId}/${what}`;

/** Returns the audit entries about changes of accounts and users. Fails unless each entry names the operator. */
function changes() {
  return readAudit(server.auditLines)
    .filter(({ event }) => /^(account|user)\./.test(event))
    .map(({ event, by, by_user_id, account_id, user_id, from, to }) => {
      expect({ by, by_user_id }).toEqual({ by: 'operator', by_user_id: operator.id });
      return JSON.parse(JSON.stringify({ event, account_id, user_id, from, to }));
    });
}

describe('a change by an operator', () => {
  test('an operator can change the plan of an account', async () => {
    const answer = await change(onAccount('plan'), { plan: ' business ' });
    expect(answer.location).toBe(`/operator/accounts/${world.accountId}?notice=plan`);
    expect((await operator.visitor.get(answer.location ?? '')).html).toContain('The plan is changed.');
    expect((await account()).plan).toBe('business');
    expect(changes()).toEqual([
      { event: 'account.plan_changed', account_id: world.accountId, from: 'community', to: 'business' },
    ]);
  });

  test("an operator can schedule an account's deletion, which sends a mail to the account's owners, and can cancel the scheduled deletion", async () => {
    const answer = await change(onAccount('delete'));
    expect((await operator.visitor.get(answer.location ?? '')).html).toContain('1 Apr 2026, 09:00 UTC');
    expect((await account()).deletion_scheduled_at).toBe('2026-03-02 09:00:00+00');
    expect((await waitingJobs(server)).filter(({ task }) => task === 'mail_account_deletion')).toMatchObject([
      { payload: { account_id: world.accountId, user_id: world.ownerId } },
    ]);
    expect((await operator.visitor.get(onAccount('delete'))).status).toBe(303);
    expect((await change(onAccount('keep'))).location).toContain('notice=kept');
    expect((await account()).deletion_scheduled_at).toBeNull();
    expect(changes()).toEqual([
      { event: 'account.deletion_scheduled', account_id: world.accountId },
      { event: 'account.deletion_cancelled', account_id: world.accountId },
    ]);
  });

  test('an operator who is no member of an account can block a user in this account with a reason, and can unblock the user', async () => {
    const { token } = await issueToken(server, world, 'write', { issuerId: memberId });
    const write = () => request(server, 'POST /api/v1/ideas', { token, json: { title: 'A title', body: 'A body' } });
    expect((await operator.visitor.get(`${onUser('block')}?in=${slug}`)).html).toContain(`value="${slug}"`);
    const answer = await change(onUser('block'), { slug, reason: 'Spam <1>' });
    expect((await operator.visitor.get(answer.location ?? '')).html).toContain('Spam &lt;1&gt;');
    expect(await blocks()).toEqual([{ user_id: memberId, reason: 'Spam <1>' }]);
    expect((await write()).key).toBe('user_blocked');
    await change(onUser('unblock'), { slug });
    expect(await blocks()).toEqual([]);
    expect((await write()).status).toBe(201);
    const inAccount = { account_id: world.accountId, user_id: memberId };
    expect(changes()).toEqual([
      { event: 'user.blocked', ...inAccount },
      { event: 'user.unblocked', ...inAccount },
    ]);
  });

  test('an operator can request the deletion of a user and cancel the deletion', async () => {
    const answer = await change(onUser('delete'));
    expect((await operator.visitor.get(answer.location ?? '')).html).toContain('4 Mar 2026, 09:00 UTC');
    expect(await requestedAt()).toBe('2026-03-02 09:00:00+00');
    await change(onUser('keep'));
    expect(await requestedAt()).toBeNull();
    expect(changes()).toEqual([
      { event: 'user.deletion_requested', user_id: memberId },
      { event: 'user.deletion_cancelled', user_id: memberId },
    ]);
  });

  test('the page on which an operator deletes a user explains that owners and operators cannot be erased', async () => {
    const path = `/operator/users/${world.ownerId}/delete`;
    expect((await operator.visitor.get(path)).html).toContain(`owner of ${slug}`);
    const answer = await change(path);
    expect((await operator.visitor.get(answer.location ?? '')).html).toContain(`owner of ${slug}`);
    const own = await operator.visitor.get(`/operator/users/${operator.id}/delete`);
    expect(own.html).toContain('operator of the server');
  });

  test('the page on which an operator deletes a user and its error for a wrong password are in German if the browser prefers German', async () => {
    const german = { headers: { 'accept-language': 'de' } };
    const path = `/operator/users/${world.ownerId}/delete`;
    const { html } = await operator.visitor.get(path, german);
    expect(html).toContain(`der Benutzer Inhaber von ${slug} ist`);
    expect(html).toMatch(/Bis 04\.03\.2026, 09:00 UTC ändert sich nichts/);
    const fields = { ...hiddenFields(html, path), current_password: 'falsch' };
    const refused = await operator.visitor.post(path, fields, german);
    expect(refused.html).toContain('Das aktuelle Passwort ist falsch.');
    expect(changes()).toEqual([]);
  });
});

describe('a refused change', () => {
  const asked = [
    ['change of a plan', () => onAccount('plan'), () => ({ plan: 'business' })],
    ['deletion of an account', () => onAccount('delete'), () => ({})],
    ['cancelled deletion of an account', () => onAccount('keep'), () => ({})],
    ['block of a user', () => onUser('block'), () => ({ slug, reason: 'Spam' })],
    ["end of a user's block", () => onUser('unblock'), () => ({ slug })],
    ['deletion of a user', () => onUser('delete'), () => ({})],
    ['cancelled deletion of a user', () => onUser('keep'), () => ({})],
  ] as const;

  test.each(asked)(
    "the operator's panel refuses a change without the operator's correct password (kind of change: %s)",
    async (what, pathOf, fieldsOf) => {
      if (what.startsWith('cancelled')) {
        await server.sql('update accounts set deletion_scheduled_at = now() where id = $1', [world.accountId]);
        await server.sql('update users set deletion_requested_at = now() where id = $1', [memberId]);
      }
      if (what.startsWith('end')) {
        await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, memberId]);
      }
      const before = await snapshot(server);
      for (const current_password of ['wrong', '']) {
        const answer = await change(pathOf(), { ...fieldsOf(), current_password });
        expect([answer.status, answer.html.includes('The current password is wrong')]).toEqual([422, true]);
        for (const text of Object.values(fieldsOf())) expect(answer.html).toContain(text);
      }
      expect(await snapshot(server)).toEqual(before);
      expect(changes()).toEqual([]);
      expect((await change(pathOf(), fieldsOf())).status).toBe(303);
      expect(await snapshot(server)).not.toEqual(before);
    },
  );

  test("the rate limit RATE_LIMIT_SIGN_IN_ACCOUNT applies to wrong passwords in the operator's panel", async () => {
    const strict = await startServerForTest({ clock, environment: { RATE_LIMIT_SIGN_IN_ACCOUNT: '2' } });
    const { id, visitor, password } = await signInOperator(strict);
    const { accountId } = await createWorld(strict);
    const path = `/operator/accounts/${accountId}/plan`;
    const send = (current_password: string) => visitor.submit(path, path, { plan: 'business', current_password });
    strict.auditLines.length = 0;
    expect([(await send('wrong')).status, (await send('wrong')).status]).toEqual([422, 422]);
    expect(readAudit(strict.auditLines)).toMatchObject([
      { event: 'operator.viewed' },
      { event: 'password.refused', user_id: id },
      { event: 'operator.viewed' },
    ]);
    const refused = await send(password);
    expect([refused.status, refused.html.includes('too many attempts')]).toEqual([429, true]);
    expect(await strict.sql('select plan from accounts where id = $1', [accountId])).toEqual([{ plan: 'community' }]);
  });

  test("the operator's panel refuses an invalid plan, a reason that is too long, and the pages of unknown accounts and users", async () => {
    const before = await snapshot(server);
    const plan = await change(onAccount('plan'), { plan: 'No Plan' });
    expect([plan.status, plan.html.includes('The plan &quot;No Plan&quot; must be')]).toEqual([422, true]);
    expect((await change(onUser('block'), { slug, reason: 'x'.repeat(501) })).status).toBe(422);
    for (const path of ['/operator/accounts/999999999', '/operator/accounts/x', '/operator/users/999999999/delete']) {
      expect([path, (await operator.visitor.get(path)).status]).toEqual([path, 404]);
    }
    expect(await snapshot(server)).toEqual(before);
  });

  test('if an operator blocks or unblocks a user in an unknown account, the form names the slug and keeps everything except the password', async () => {
    const before = await snapshot(server);
    for (const what of ['block', 'unblock']) {
      const { status, html } = await change(onUser(what), { slug: 'no-such-account', reason: 'Spam <1>' });
      const page = parse(html);
      const problem = page.querySelector('#problem')?.textContent.trim();
      expect([what, status, problem]).toEqual([what, 422, 'There is no account "no-such-account".']);
      const valueIn = (name: string) => page.querySelector(`[name=${name}]`)?.getAttribute('value') ?? '';
      expect([valueIn('slug'), valueIn('current_password')]).toEqual(['no-such-account', '']);
      const reason = page.querySelector('[name=reason]')?.textContent;
      expect(reason).toBe(what === 'block' ? 'Spam <1>' : undefined);
    }
    expect(await snapshot(server)).toEqual(before);
  });

  test('an operator cannot block themselves or the last owner of an account', async () => {
    const before = await snapshot(server);
    const own = `/operator/users/${operator.id}/block`;
    expect((await change(own, { slug })).status).toBe(403);
    const last = await change(`/operator/users/${world.ownerId}/block`, { slug });
    expect([last.status, last.html.includes('The last owner of an account cannot be blocked')]).toEqual([409, true]);
    expect(await snapshot(server)).toEqual(before);
  });

  test('after the erasure of an account or user has begun, an operator can neither change the account or user nor cancel the deletion', async () => {
    const erasing = 'deletion_scheduled_at = now(), erasure_began_at = now()';
    const form_token = /name="form_token" value="([^"]+)"/.exec(
      (await operator.visitor.get(onAccount('plan'))).html,
    )?.[1];
    await server.sql(`update accounts set ${erasing} where id = $1`, [world.accountId]);
    await server.sql('update users set deletion_requested_at = now(), erasure_began_at = now() where id = $1', [
      memberId,
    ]);
    const before = await snapshot(server);
    const fields = { form_token: form_token ?? '', current_password: operator.password, plan: 'business', slug };
    for (const path of [...['plan', 'delete', 'keep'].map(onAccount), ...['block', 'delete', 'keep'].map(onUser)]) {
      const { status } = await operator.visitor.post(path, fields);
      expect([path, [303, 409].includes(status)]).toEqual([path, true]);
    }
    expect(await snapshot(server)).toEqual(before);
    expect(changes()).toEqual([]);
    expect((await operator.visitor.get(`/operator/accounts/${world.accountId}`)).html).toContain('cannot be stopped');
  });
});

describe('two changes at the same time', () => {
  /** Opens the pages of all forms first, and then sends all forms at the same time. */
  async function changeAll(forms: [path: string, fields: Record<string, string>][]) {
    const pages = await Promise.all(forms.map(([path]) => operator.visitor.get(path)));
    return Promise.all(
      forms.map(([path, fields], index) => {
        const hidden = hiddenFields(pages[index]?.html ?? '', path);
        return operator.visitor.post(path, { ...hidden, current_password: operator.password, ...fields });
      }),
    );
  }

  test("if two requests change an account's plan at the same time, the second audit entry has the first request's plan as the old plan", async () => {
    const client = await connect(server.url);
    await client.query('begin');
    await client.query('select from accounts where id = $1 for update', [world.accountId]);
    const changed = changeAll(['business', 'starter'].map(plan => [onAccount('plan'), { plan }]));
    await waitForLockWaits(server, 2);
    await client.query('commit');
    await client.end();
    await changed;
    const [first, second] = changes();
    expect([first.from, second.from]).toEqual(['community', first.to]);
    expect((await account()).plan).toBe(second.to);
  });

  test('two simultaneous requests to delete the same account or user cause only one audit entry, and for the account only one mail', async () => {
    await changeAll(
      [onAccount('delete'), onUser('delete'), onAccount('delete'), onUser('delete')].map(path => [path, {}]),
    );
    expect(changes().toSorted((one, other) => one.event.localeCompare(other.event))).toEqual([
      { event: 'account.deletion_scheduled', account_id: world.accountId },
      { event: 'user.deletion_requested', user_id: memberId },
    ]);
    const mails = (await waitingJobs(server)).filter(({ payload }) => {
      return (payload as { account_id?: number }).account_id === world.accountId;
    });
    expect(mails.length).toBe(1);
  });

  test("if an account's only two owners are blocked at the same time, one of the two blocks is refused", async () => {
    const secondId = await createMember(server, world.accountId, 'owner');
    const answers = await changeAll([world.ownerId, secondId].map(id => [`/operator/users/${id}/block`, { slug }]));
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect((await blocks()).length).toBe(1);
  });
});
