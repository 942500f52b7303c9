import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient, Observations } from './api-client.ts';
import { type KnownIdea, type Ledger, type Vote, voteKey } from './ledger.ts';

export interface Actor {
  tokenId: number;
  token: string;
  client: ApiClient;
}

export interface LoadOptions {
  ledger: Ledger;
  seen: Observations;
  tagIds: number[];
  /** The ideas that all actors (simulated API users) vote and comment on. */
  shared: KnownIdea[];
  isOver: () => boolean;
}

const statuses = ['open', 'planned', 'in_progress', 'done', 'declined'];
const pauseMs = 100;

/**
 * Sends random reads and writes for one simulated API user (`Actor`), one after the other, until the load ends. Nobody
 * else changes this user's own ideas, so the test always knows their expected state.
 */
export async function runLoad(actor: Actor, options: LoadOptions) {
  const own: KnownIdea[] = [];
  for (let turn = 0; !options.isOver(); turn++) {
    await delay(pauseMs * (0.5 + Math.random()));
    const dice = Math.random();
    const idea = pick(own.filter(({ mergedInto }) => mergedInto === null));
    if (!idea || dice < 0.15) await createIdea(actor, options, own, turn);
    else if (dice < 0.4) await castVote(actor, options);
    else if (dice < 0.5) await comment(actor, options, turn);
    else if (dice < 0.6) await setStatus(actor, options, idea);
    else if (dice < 0.7) await changeTags(actor, options, idea);
    else if (dice < 0.75) await mergeOrUnmerge(actor, options, own);
    else await readIdeas(actor, options, idea);
  }
}

async function createIdea({ client }: Actor, { ledger }: LoadOptions, own: KnownIdea[], turn: number) {
  // The title contains a unique word, so that a later search must find exactly this idea.
  const title = `Idea ${turn} ${randomBytes(6).toString('hex')}`;
  const made = await client.send('POST /api/v1/ideas', { title, body: 'Under steady load.' }, 201);
  if (!made) return;
  const idea = { id: made.body.id, title, status: 'open', tags: new Set<number>(), mergedInto: null };
  ledger.ideas.set(idea.id, idea);
  ledger.events['idea.created'] += 1;
  own.push(idea);
}

async function castVote({ tokenId, client }: Actor, { ledger, seen, shared }: LoadOptions) {
  const { id } = pick(shared) as KnownIdea;
  const value = pick<Vote>(['up', 'down', 'none']) as Vote;
  const voted = await client.send(`POST /api/v1/ideas/${id}/vote`, { value }, 200);
  if (!voted) return;
  if (voted.body.my_vote !== value) seen.faults.push(`A vote of ${value} was answered with ${voted.body.my_vote}`);
  const key = voteKey(tokenId, id);
  if ((ledger.votes.get(key) ?? 'none') !== value) ledger.events['idea.voted'] += 1;
  ledger.votes.set(key, value);
}

async function comment({ tokenId, client }: Actor, { ledger, shared }: LoadOptions, turn: number) {
  const { id } = pick(shared) as KnownIdea;
  const body = `Comment ${turn} of token ${tokenId}`;
  // The status 422 is also expected: the server rejects a comment that directly follows a comment of the same user,
  // even if the user sends the two comments with different tokens.
  const made = await client.send(`POST /api/v1/ideas/${id}/comments`, { body }, 201, 422);
  if (made?.status !== 201) return;
  ledger.comments.add(body);
  ledger.events['comment.created'] += 1;
}

async function setStatus({ client }: Actor, { ledger }: LoadOptions, idea: KnownIdea) {
  const status = pick(statuses) as string;
  const set = await client.send(`POST /api/v1/ideas/${idea.id}/status`, { status }, 200);
  if (!set) return;
  if (idea.status !== status) ledger.events['idea.status_changed'] += 1;
  idea.status = status;
}

async function changeTags({ client }: Actor, { tagIds }: LoadOptions, idea: KnownIdea) {
  const tagId = pick(tagIds) as number;
  if (idea.tags.has(tagId)) {
    if (await client.send(`DELETE /api/v1/ideas/${idea.id}/tags/${tagId}`, undefined, 200)) idea.tags.delete(tagId);
  } else if (await client.send(`POST /api/v1/ideas/${idea.id}/tags`, { tag_id: tagId }, 200)) {
    idea.tags.add(tagId);
  }
}

async function mergeOrUnmerge({ client }: Actor, { ledger }: LoadOptions, own: KnownIdea[]) {
  const merged = pick(own.filter(({ mergedInto }) => mergedInto !== null));
  if (merged && Math.random() < 0.5) {
    if (!(await client.send(`POST /api/v1/ideas/${merged.id}/unmerge`, undefined, 200))) return;
    merged.mergedInto = null;
    ledger.events['idea.unmerged'] += 1;
    return;
  }
  // The server does not merge an idea that is already merged. This test also never merges an idea into which another
  // idea was merged.
  const free = own.filter(({ id, mergedInto }) => mergedInto === null && !own.some(one => one.mergedInto === id));
  const source = pick(free);
  const target = pick(free);
  if (!source || !target || source === target) return;
  if (!(await client.send(`POST /api/v1/ideas/${source.id}/merge`, { target_id: target.id }, 200))) return;
  source.mergedInto = target.id;
  ledger.events['idea.merged'] += 1;
}

/** Checks that reads return the results of earlier writes. */
async function readIdeas({ client }: Actor, { seen }: LoadOptions, idea: KnownIdea) {
  const one = await client.send(`GET /api/v1/ideas/${idea.id}`, undefined, 200);
  if (one && !isSame(one.body, idea)) {
    seen.faults.push(`The idea ${idea.title}, ${idea.status}, was read as ${JSON.stringify(one.body)}`);
  }
  await client.send(`GET /api/v1/ideas?sort=${pick(['newest', 'top'])}&per_page=20`, undefined, 200);
  const found = await client.send(`GET /api/v1/ideas?q=${idea.title.split(' ').at(-1)}`, undefined, 200);
  if (found && !found.body.data.some(({ id }: KnownIdea) => id === idea.id)) {
    seen.faults.push(`The search for ${idea.title} did not find it`);
  }
}

function isSame(
  body: { title: string; status_key: string; merged_into_id: number | null; tags: { id: number }[] },
  idea: KnownIdea,
): boolean {
  const isTagged = body.tags.length === idea.tags.size && body.tags.every(({ id }) => idea.tags.has(id));
  return (
    body.title === idea.title && body.status_key === idea.status && body.merged_into_id === idea.mergedInto && isTagged
  );
}

function pick<Item>(items: Item[]): Item | undefined {
  return items[Math.floor(Math.random() * items.length)];
}
