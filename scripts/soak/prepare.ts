import { randomBytes } from 'node:crypto';
import { buildApiClient, type Observations } from './api-client.ts';
import type { Deployment } from './deployment.ts';
import type { KnownIdea, Ledger } from './ledger.ts';
import type { Actor } from './load.ts';
import type { Receiver } from './receiver.ts';

const actors = 12;
const sharedIdeas = 40;

/**
 * Creates an account in the way an operator would. The account has a token for each simulated API user. The account
 * also has ideas on which all these users vote.
 */
export async function prepare(
  { cli, balancer }: Deployment,
  receiver: Receiver,
  seen: Observations,
  ledger: Ledger,
): Promise<{ tokens: Actor[]; tagIds: number[]; shared: KnownIdea[] }> {
  const owner = ['--owner-email', 'ada@example.com', '--owner-name', 'Ada'];
  await cli('account', 'create', '--name', 'Soak', '--slug', 'soak', ...owner);
  await cli('board', 'create', '--slug', 'web-app', '--name', 'Web app');
  await cli('user', 'create', '--email', 'grace@example.com', '--name', 'Grace');
  await cli('member', 'add', '--user', 'grace@example.com', '--role', 'admin');
  const { secret } = await cli<{ secret: string }>('webhook', 'create', '--url', receiver.url);
  receiver.trust(secret);
  for (const name of ['Billing', 'Mobile', 'Speed']) {
    await cli('tag', 'add', '--board', 'web-app', '--name', name, '--color', '#0f766e');
  }
  const tokens: Actor[] = [];
  for (let n = 0; n < actors; n++) {
    const issuer = n % 2 === 0 ? 'ada@example.com' : 'grace@example.com';
    const { id, token } = await cli<{ id: number; token: string }>(
      ...['token', 'create', '--name', `Actor ${n}`, '--issuer', issuer, '--grant', 'moderate'],
    );
    tokens.push({ tokenId: id, token, client: buildApiClient(balancer.url, token, seen) });
  }
  const board = await tokens[0]?.client.send('GET /api/v1/board', undefined, 200);
  const tagIds: number[] = board?.body.tags.map(({ id }: { id: number }) => id);
  const shared: KnownIdea[] = [];
  for (let n = 0; n < sharedIdeas; n++) {
    const title = `Shared ${randomBytes(6).toString('hex')}`;
    const made = await (tokens[n % actors] as Actor).client.send(
      'POST /api/v1/ideas',
      { title, body: 'For all.' },
      201,
    );
    shared.push({ id: made?.body.id, title, status: 'open', tags: new Set(), mergedInto: null });
  }
  ledger.events['idea.created'] += sharedIdeas;
  return { tokens, tagIds, shared };
}
