import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from 'simple-statistics';
import { makeSecret } from '../../server/domain/sign-in/secret-text.ts';
import { formatToken } from '../../server/domain/tokens/token-text.ts';
import { type ApiClient, buildApiClient, type Observations } from './api-client.ts';
import type { Deployment } from './deployment.ts';
import { type Ledger, voteKey } from './ledger.ts';
import type { Actor } from './load.ts';

/** The test's measurements while it merges an idea that has many votes. */
export interface BigMerge {
  votes: number;
  mergeMs: number;
  /** The number of votes on the target idea during the merge. */
  votesDuring: number;
  /** The number of requests that the test retried during the merge. */
  refused: number;
  /**
   * The reads of another board's ideas: the number of reads during the merge, and the 99th percentiles of their
   * durations in milliseconds, before and during the merge.
   */
  reads: { count: number; before: number; during: number };
  faults: string[];
}

interface Options {
  actor: Actor;
  seen: Observations;
  ledger: Ledger;
}

const voteCount = 100_000;
const voterCount = 19;
const readPauseMs = 20;
const baselineMs = 5_000;
const readLimitMs = 200;

/**
 * Creates a board with an idea that has 100,000 votes. Also creates another idea, into which this idea will be merged.
 */
export async function prepareBigMerge(deployment: Deployment, { seen, ledger }: Omit<Options, 'actor'>) {
  const { cli, query } = deployment;
  const { id: boardId } = await cli<{ id: number }>('board', 'create', '--slug', 'crowd', '--name', 'Crowd');
  const voters: Voter[] = [];
  for (let n = 0; n <= voterCount; n++) voters.push(await issueToken(deployment, boardId, seen));
  const moderator = voters.pop() as Voter;
  const ids: number[] = [];
  for (const title of ['Wanted by a crowd', 'Wanted by the same crowd']) {
    const made = await moderator.client.send('POST /api/v1/ideas', { title, body: 'Merge me.' }, 201);
    ids.push(made?.body.id);
    ledger.events['idea.created'] += 1;
  }
  const [source = 0, target = 0] = ids;
  await query(
    `with voter as (insert into voters (account_id) select account_id from ideas, generate_series(1, $2) where id = $1
      returning id, account_id)
    insert into votes (idea_id, voter_id, account_id, value) select $1, id, account_id, 1 from voter`,
    [source, voteCount],
  );
  await query('select carry_votes(account_id, id) from ideas where id = $1', [source]);
  await query('analyze votes');
  return { ids, run: (actor: Actor) => runBigMerge({ actor, seen, ledger }, moderator.client, voters, source, target) };
}

interface Voter {
  tokenId: number;
  client: ApiClient;
}

/** Issues a token directly in the database, because the command line would take seconds for each token. */
async function issueToken({ query, balancer }: Deployment, boardId: number, seen: Observations): Promise<Voter> {
  const secret = makeSecret();
  const [made] = await query<{ token_id: string }>(
    `with voter as (insert into voters (account_id) select account_id from boards where id = $1 returning id, account_id),
    token as (
      insert into api_tokens (account_id, issuer_id, voter_id, name, secret_hash)
      select v.account_id, m.user_id, v.id, 'Of a crowd', $2
      from voter v join memberships m on m.account_id = v.account_id and m.role = 'owner'
      returning id, account_id
    )
    insert into api_token_boards (account_id, token_id, board_id, level)
    select account_id, id, $1, 'moderate' from token returning token_id`,
    [boardId, secret.hash],
  );
  const tokenId = Number(made?.token_id);
  return { tokenId, client: buildApiClient(balancer.url, formatToken({ id: tokenId, secret: secret.text }), seen) };
}

async function runBigMerge(
  { actor, seen, ledger }: Options,
  moderator: ApiClient,
  voters: Voter[],
  source: number,
  target: number,
): Promise<BigMerge> {
  const before = await readWhile(actor, delay(baselineMs));
  const repeatedBefore = seen.repeated;
  const startedAt = performance.now();
  const merging = moderator.send(`POST /api/v1/ideas/${source}/merge`, { target_id: target }, 200);
  const voting = Promise.all(
    voters.map(async ({ tokenId, client }) => {
      const voted = await client.send(`POST /api/v1/ideas/${target}/vote`, { value: 'up' }, 200);
      if (!voted) return;
      ledger.votes.set(voteKey(tokenId, target), 'up');
      ledger.events['idea.voted'] += 1;
    }),
  );
  const during = await readWhile(actor, merging);
  const mergeMs = performance.now() - startedAt;
  await voting;
  const merged = await merging;
  if (merged) ledger.events['idea.merged'] += 1;
  const idea = await moderator.send(`GET /api/v1/ideas/${target}`, undefined, 200);
  const counted = idea?.body.up_count;
  const reads = { count: during.length, before: quantile(before, 0.99), during: quantile(during, 0.99) };
  const faults = [
    ...(counted === voteCount + voterCount ? [] : [`The merged idea counts ${counted} votes`]),
    ...(reads.during < readLimitMs
      ? []
      : [`During the merge, reads of another board took ${reads.during.toFixed(0)} ms`]),
  ];
  return { votes: voteCount, mergeMs, votesDuring: voterCount, refused: seen.repeated - repeatedBefore, reads, faults };
}

/**
 * Lists the ideas of the board of one API user (`Actor`), again and again, until `work` ends. Returns the duration of
 * each request.
 */
async function readWhile({ client }: Actor, work: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  const end = work.finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  while (!isOver) {
    const startedAt = performance.now();
    await client.send('GET /api/v1/ideas', undefined, 200);
    times.push(performance.now() - startedAt);
    await delay(readPauseMs);
  }
  await end;
  return times;
}

export function describeBigMerge({ votes, mergeMs, votesDuring, refused, reads }: BigMerge): string {
  return `Merge of ${votes} votes: ${(mergeMs / 1000).toFixed(1)} s, with ${votesDuring} concurrent votes on the target, ${refused} of them retried. Reads of another board, 99th percentile: ${reads.before.toFixed(0)} ms before, ${reads.during.toFixed(0)} ms during the merge (${reads.count} reads)`;
}
