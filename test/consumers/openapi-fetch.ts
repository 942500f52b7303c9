import { mkdir, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Consumer, document, run } from './consumer.ts';

const require = createRequire(import.meta.url);
const generator = join(dirname(require.resolve('openapi-typescript/package.json')), 'bin/cli.js');
const library = dirname(require.resolve('openapi-fetch/package.json'));

/** A client with types from openapi-typescript. The library openapi-fetch sends the requests. */
export const openapiFetch: Consumer = {
  name: 'openapi-typescript with openapi-fetch',
  flags: ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'],

  async generate(directory) {
    await run([generator, document, '--output', join(directory, 'api.d.ts')], directory);
    await mkdir(join(directory, 'node_modules'));
    await symlink(library, join(directory, 'node_modules/openapi-fetch'));
  },

  program: `
    import createClient from 'openapi-fetch';
    import type { components, operations, paths } from './api.js';

    type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
    const check = <_T extends true>() => {};

    type Idea = components['schemas']['Idea'];
    check<Equal<Idea['moderation_state'], 'published' | 'pending'>>();
    check<Equal<Idea['merged_into_id'], number | null>>();
    check<Equal<Idea['my_vote'], 'up' | 'down' | 'none'>>();
    check<Equal<Idea['tags'][number]['color'], string>>();

    type Query = NonNullable<operations['listIdeas']['parameters']['query']>;
    check<Equal<Query['sort'], 'newest' | 'top' | 'updated' | 'comments' | 'trending' | undefined>>();
    check<Equal<Query['ids'], number[] | undefined>>();
    check<Equal<Query['moderation_state'], 'pending' | undefined>>();
    check<Equal<Query['page'], number | undefined>>();

    type Vote = paths['/api/v1/ideas/{id}/vote']['post'];
    check<Equal<Vote['requestBody']['content']['application/json'], { value: 'up' | 'down' | 'none' }>>();
    check<Equal<
      Vote['responses'][423]['content']['application/json']['error']['key'],
      'board_frozen' | 'status_votes_closed' | 'voting_closed' | 'voting_not_open_yet'
    >>();
    check<Equal<
      operations['createIdea']['responses'][403]['content']['application/json']['error']['key'],
      'agent_api_unavailable' | 'board_not_granted' | 'insufficient_scope' | 'network_not_allowed' | 'user_blocked'
    >>();
    check<Equal<paths['/ready']['get']['responses'][503]['content']['application/json']['ok'], false>>();

    type Merged = components['schemas']['IdeaMergedEvent'];
    check<Equal<Merged['type'], 'idea.merged'>>();
    check<Equal<Merged['data']['target']['title'], string>>();

    export async function use(baseUrl: string, tokens: { write: string; read: string }) {
      const clientOf = (token: string) =>
        createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });
      const writer = clientOf(tokens.write);

      const input = { title: 'Dark mode', body: 'For late evenings.' };
      const { data: created } = await writer.POST('/api/v1/ideas', {
        body: input,
        params: { header: { 'idempotency-key': 'once' } },
      });
      if (!created) throw new Error('not created');

      const path = { id: created.id };
      // @ts-expect-error: not a vote
      const sideways: components['schemas']['VoteInput'] = { value: 'sideways' };
      const { data: tally } = await writer.POST('/api/v1/ideas/{id}/vote', { params: { path }, body: { value: 'up' } });
      if (!tally) throw new Error('not counted');

      const { data: list } = await writer.GET('/api/v1/ideas', { params: { query: { sort: 'newest', per_page: 5 } } });
      if (!list) throw new Error('not listed');

      const { error, response } = await clientOf(tokens.read).POST('/api/v1/ideas', { body: input });
      if (!error) throw new Error('not refused');
      const { key } = error.error;
      // The type of the error covers all error statuses of the operation, because the client does not distinguish the
      // statuses.
      check<Equal<Extract<typeof key, 'insufficient_scope' | 'voting_closed'>, 'insufficient_scope'>>();

      return { created, tally, titles: list.data.map(idea => idea.title), refusal: { status: response.status, key } };
    }
  `,
};
