import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Command, type IdeaState, type Outcome, VoteModel } from '../helpers/vote-model.ts';

/** The test uses only a few ideas and voters, so that random commands often affect the same idea and voter. */
const ideaCount = 3;
const voterCount = 3;
/** The index of the voter whose token has the moderate grant. This token sends all merges and unmerges. */
const moderator = 0;

/**
 * The seed of the random commands, and the number of random sequences of commands. For more and other sequences:
 * PROPERTY_RUNS=50 PROPERTY_SEED=$RANDOM vitest run test/endpoints/merging.property.test.ts
 */
const seed = Number(process.env.PROPERTY_SEED ?? 20_260_314);
const runs = Number(process.env.PROPERTY_RUNS ?? 5);

const server = await startServerForFile();
const world = await createWorld(server);
const tokens: string[] = [];
for (let voter = 0; voter < voterCount; voter++) {
  tokens.push((await issueToken(server, world, voter === moderator ? 'moderate' : 'write')).token);
}

const someIdea = fc.nat({ max: ideaCount - 1 });
const value = fc.constantFrom('up' as const, 'up' as const, 'down' as const, 'none' as const);
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('vote' as const),
      voter: fc.nat({ max: voterCount - 1 }),
      idea: someIdea,
      value,
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('merge' as const), idea: someIdea, target: someIdea }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unmerge' as const), idea: someIdea }) },
);

/**
 * A command that copies one batch of votes to the target idea. A merge copies such batches before its transaction, and
 * other requests may run between two batches.
 */
const copy = fc.record({
  kind: fc.constant('copy' as const),
  idea: someIdea,
  target: someIdea,
  count: fc.nat({ max: 3 }),
});
type Copy = typeof copy extends fc.Arbitrary<infer T> ? T : never;

const copyVotes = ({ idea, target, count }: Copy, ids: number[]) =>
  server.sql('select copy_votes($1, $2, $3, 0, $4)', [world.accountId, ids[idea], ids[target], count]);

test("votes that the server copies to the target idea before a merge have no effect until the merge, and do not change the merge's result", async () => {
  const some = fc.oneof({ weight: 3, arbitrary: command }, { weight: 2, arbitrary: copy });
  await fc.assert(
    fc.asyncProperty(fc.array(some, { minLength: 30, maxLength: 40, size: 'max' }), async commands => {
      const ids = await createIdeas();
      const model = new VoteModel(ideaCount, voterCount);
      for (const one of commands) {
        if (one.kind === 'copy') await copyVotes(one, ids);
        else expect(outcomeOf(one, await send(one, ids), ids)).toEqual(model.run(one, moderator));
        expect(await readAll(ids)).toEqual(statesOf(model));
      }
      await expectInvariants(server);
    }),
    { seed, numRuns: Math.ceil(runs / 3) },
  );
});

test('sequential votes, merges and unmerges have the results that a simple model predicts', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 25, maxLength: 30, size: 'max' }), async commands => {
      const ids = await createIdeas();
      const model = new VoteModel(ideaCount, voterCount);
      for (const one of commands) {
        expect(outcomeOf(one, await send(one, ids), ids)).toEqual(model.run(one, moderator));
        expect(await readAll(ids)).toEqual(statesOf(model));
      }
      await expectInvariants(server);
    }),
    { seed, numRuns: runs },
  );
});

test('concurrent votes, merges and unmerges have the same results as if they had run one after another in some order', {
  timeout: 240_000,
}, async () => {
  const batch = fc.array(command, { minLength: 2, maxLength: 5, size: 'max' });
  await fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 6, maxLength: 8, size: 'max' }), async batches => {
      const ids = await createIdeas();
      let model = new VoteModel(ideaCount, voterCount);
      for (const commands of batches) {
        const copying = copyVotes(
          { kind: 'copy', idea: commands.length % 3, target: batches.length % 3, count: 3 },
          ids,
        );
        const answers = await Promise.all(commands.map(one => send(one, ids)));
        await copying;
        const outcomes = commands.map((one, n) => outcomeOf(one, answers[n] as Answer, ids));
        const states = await readAll(ids);
        const next = explain(model, commands, outcomes, states);
        if (!next) throw new Error(`No order explains ${JSON.stringify({ commands, outcomes, states })}`);
        model = next;
        await expectInvariants(server);
      }
    }),
    // fast-check must not search for a shorter failing sequence, because a failure may depend on timing.
    { seed, numRuns: runs, endOnFailure: true },
  );
  expect(server.logLines.filter(line => line.includes('"level":50'))).toEqual([]);
});

/**
 * Finds an order of the concurrent commands in which the model gives the same responses and the same end state as the
 * server. Returns the model after these commands, or undefined if there is no such order.
 */
function explain(
  model: VoteModel,
  commands: Command[],
  outcomes: Outcome[],
  states: IdeaState[][],
  left = commands.map((_, n) => n),
): VoteModel | undefined {
  if (left.length === 0) return isDeepStrictEqual(statesOf(model), states) ? model : undefined;
  for (const n of left) {
    const next = model.copy();
    if (!isDeepStrictEqual(next.run(commands[n] as Command, moderator), outcomes[n])) continue;
    const found = explain(
      next,
      commands,
      outcomes,
      states,
      left.filter(other => other !== n),
    );
    if (found) return found;
  }
  return undefined;
}

async function createIdeas(): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < ideaCount; n++) ids.push(await insertIdea(server, world, { title: `Idea ${n}` }));
  return ids;
}

function send(one: Command, ids: number[]): Promise<Answer> {
  const path = `POST /api/v1/ideas/${ids[one.idea]}/${one.kind}`;
  if (one.kind === 'vote') return request(server, path, { token: tokens[one.voter], json: { value: one.value } });
  const json = one.kind === 'merge' ? { json: { target_id: ids[one.target] } } : {};
  return request(server, path, { token: tokens[moderator], ...json });
}

/**
 * Reads the ideas with the token of each voter. For each idea, returns one state for each voter, as this voter sees it.
 */
async function readAll(ids: number[]): Promise<IdeaState[][]> {
  const read = async (token: string): Promise<IdeaState[]> => {
    const { body } = await rawRequest(server, 'GET', `/api/v1/ideas?ids=${ids}`, { token });
    return body.data.map((idea: Answer['body']) => stateOf(idea, ids));
  };
  const seen = await Promise.all(tokens.map(read));
  return ids.map((_, idea) => seen.map(states => states[idea] as IdeaState));
}

function statesOf(model: VoteModel): IdeaState[][] {
  const voters = Array.from({ length: voterCount }, (_, voter) => voter);
  return Array.from({ length: ideaCount }, (_, idea) => voters.map(voter => model.state(idea, voter)));
}

function stateOf(idea: Answer['body'], ids: number[]): IdeaState {
  const { up_count, down_count, my_vote, merged_into_id, score } = idea;
  expect(score).toBe(up_count - down_count);
  return { up_count, down_count, merged_into: merged_into_id === null ? null : ids.indexOf(merged_into_id), my_vote };
}

function outcomeOf(one: Command, { status, key, body }: Answer, ids: number[]): Outcome {
  if (status === 404 || status === 422) return { status, key: key ?? '' };
  expect(status, `${JSON.stringify(one)} answered ${JSON.stringify(body)}`).toBe(200);
  if (one.kind !== 'vote') {
    return { status: 200, idea: stateOf(body.idea, ids), target: body.target && stateOf(body.target, ids) };
  }
  const { up_count, down_count, my_vote } = body;
  return { status: 200, tally: { up_count, down_count, my_vote } };
}
