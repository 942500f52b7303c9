import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Consumer, document, run } from './consumer.ts';

const require = createRequire(import.meta.url);
const generator = require.resolve('orval/bin/orval');

/**
 * The client that orval generates: types, and functions that call fetch. Its base URL comes from the OpenAPI document.
 */
export const orval: Consumer = {
  name: 'orval',
  flags: ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'],

  async generate(directory, baseUrl) {
    const output = {
      target: 'api.ts',
      client: 'fetch',
      baseUrl: { getBaseUrlFromSpecification: true, variables: { base_url: baseUrl } },
    };
    const config = { ideas: { input: document, output } };
    await writeFile(join(directory, 'orval.config.js'), `export default ${JSON.stringify(config)};`);
    await run([generator, '--fail-on-warnings'], directory);
  },

  program: `
    import { createIdea, listIdeas, voteIdea } from './api.js';
    import type { CreateIdeaError403, Idea, IdeaMergedEvent, VoteInput } from './api.js';

    type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
    const check = <_T extends true>() => {};

    check<Equal<Idea['moderation_state'], 'published' | 'pending'>>();
    check<Equal<Idea['merged_into_id'], number | null>>();
    check<Equal<IdeaMergedEvent['type'], 'idea.merged'>>();

    export async function use(_baseUrl: string, tokens: { write: string; read: string }) {
      const as = (token: string) => ({ headers: { authorization: \`Bearer \${token}\` } });

      const input = { title: 'Dark mode', body: 'For late evenings.' };
      const created = await createIdea(input, undefined, as(tokens.write));
      if (created.status !== 201) throw new Error('not created');

      // @ts-expect-error: not a vote
      const sideways: VoteInput = { value: 'sideways' };
      const tally = await voteIdea(created.data.id, { value: 'up' }, undefined, as(tokens.write));
      if (tally.status !== 200) throw new Error('not counted');

      const list = await listIdeas({ sort: 'newest', per_page: 5 }, as(tokens.write));
      if (list.status !== 200) throw new Error('not listed');

      const refused = await createIdea(input, undefined, as(tokens.read));
      if (refused.status !== 403) throw new Error('not refused');
      const { key } = refused.data.error;
      check<Equal<typeof refused.data, CreateIdeaError403>>();
      check<Equal<
        typeof key,
        'agent_api_unavailable' | 'board_not_granted' | 'insufficient_scope' | 'network_not_allowed' | 'user_blocked'
      >>();

      return {
        created: created.data,
        tally: tally.data,
        titles: list.data.data.map(idea => idea.title),
        refusal: { status: refused.status, key },
      };
    }
  `,
};
