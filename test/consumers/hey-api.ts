import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Consumer, compilerApi, document, run } from './consumer.ts';

const require = createRequire(import.meta.url);
// The module that generates the client. The test runs this module directly, because the package's own command would
// start the module in another process.
const generator = join(dirname(require.resolve('@hey-api/openapi-ts/package.json')), 'dist/run.mjs');

// The generator does not support TypeScript 7, which the repository uses. This hook loads TypeScript 5 instead.
const withCompiler = `
  import { registerHooks } from 'node:module';
  const compiler = ${JSON.stringify(pathToFileURL(compilerApi))};
  registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? compiler : name, context) });
`;

/** The client that @hey-api/openapi-ts generates: types, and functions that call fetch. */
export const heyApi: Consumer = {
  name: '@hey-api/openapi-ts',
  // The generated client does not compile with --exactOptionalPropertyTypes.
  flags: ['--noUncheckedIndexedAccess'],

  generate: directory =>
    run(
      [
        `--import=data:text/javascript,${encodeURIComponent(withCompiler)}`,
        generator,
        ...['--input', document, '--output', join(directory, 'client'), '--client', '@hey-api/client-fetch'],
      ],
      directory,
    ),

  program: `
    import { createIdea, listIdeas, voteIdea } from './client/index.js';
    import type { CreateIdeaErrors, Idea, ReceiveIdeaMergedEventWebhookPayload } from './client/index.js';
    import { createClient } from './client/client/index.js';

    type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
    const check = <_T extends true>() => {};

    check<Equal<Idea['moderation_state'], 'published' | 'pending'>>();
    check<Equal<Idea['merged_into_id'], number | null>>();
    check<Equal<ReceiveIdeaMergedEventWebhookPayload['type'], 'idea.merged'>>();
    check<Equal<
      CreateIdeaErrors[403]['error']['key'],
      'agent_api_unavailable' | 'board_not_granted' | 'insufficient_scope' | 'network_not_allowed' | 'user_blocked'
    >>();
    check<Equal<
      CreateIdeaErrors[423]['error']['key'],
      'board_frozen' | 'submissions_closed' | 'submissions_not_open_yet'
    >>();

    export async function use(baseUrl: string, tokens: { write: string; read: string }) {
      const writer = createClient({ baseUrl, auth: tokens.write });
      const reader = createClient({ baseUrl, auth: tokens.read });

      const body = { title: 'Dark mode', body: 'For late evenings.' };
      const { data: created } = await createIdea({
        client: writer,
        body,
        headers: { 'idempotency-key': 'once' },
        throwOnError: true,
      });

      const path = { id: created.id };
      // @ts-expect-error: not a vote
      const sideways: Parameters<typeof voteIdea>[0] = { path, body: { value: 'sideways' } };
      const { data: tally } = await voteIdea({ client: writer, path, body: { value: 'up' }, throwOnError: true });

      const query = { sort: 'newest', per_page: 5 } as const;
      const { data: list } = await listIdeas({ client: writer, query, throwOnError: true });

      const { error, response } = await createIdea({ client: reader, body });
      if (!error || !response) throw new Error('not refused');
      const { key } = error.error;
      check<Equal<Extract<typeof key, 'insufficient_scope' | 'voting_closed'>, 'insufficient_scope'>>();

      return { created, tally, titles: list.data.map(idea => idea.title), refusal: { status: response.status, key } };
    }
  `,
};
