/** The input of the scenario: a board with three ideas, a gateway in front of it, and a delivered webhook. */
export interface ScenarioWorld {
  /** The URL of the gateway, which breaks off the response to request 4 and answers request 6 with 503. */
  baseUrl: string;
  token: string;
  webhook: { body: string; headers: Record<string, string>; secret: string };
}

/**
 * Makes the same calls of the client on every runtime and returns the results. The function receives the client as an
 * argument. The function uses only APIs that every runtime has.
 */
export async function runScenario(
  sdk: typeof import('../../client/main.ts'),
  { baseUrl, token, webhook }: ScenarioWorld,
) {
  const client = new sdk.IdeaBoard({ baseUrl, token });
  const keyOf = (failing: PromiseLike<unknown>) =>
    failing.then(
      () => 'no error',
      (error: unknown) => (sdk.isIdeaBoardError(error) ? error.key : String(error)),
    );

  const titles: string[] = [];
  for await (const { title } of client.ideas.list({ per_page: 2 })) titles.push(title);
  let refusal: unknown;
  try {
    await client.ideas.get(999_999_999);
  } catch (error) {
    if (!sdk.isIdeaBoardError(error)) throw error;
    const { name, key, status, requestId, rateLimit } = error;
    refusal = { name, key, status, hasRequestId: requestId !== undefined, bucket: rateLimit?.bucket };
  }
  const created = await client.ideas.create({ title: 'Ünïcödé ☾', body: 'From here.' }).withResponse();
  const tally = await client.ideas.vote(created.data.id, { value: 'up' }).withResponse();
  const controller = new AbortController();
  controller.abort();
  const event = await sdk.verifyWebhook(webhook.body, webhook.headers, webhook.secret);

  return {
    titles,
    refusal,
    created: { title: created.data.title, attempts: created.attempts, isReplay: created.isReplay },
    tally: { score: tally.data.score, attempts: tally.attempts },
    aborted: await keyOf(client.board.get({ signal: controller.signal })),
    unreachable: await keyOf(new sdk.IdeaBoard({ baseUrl: 'http://127.0.0.1:1', token, maxRetries: 0 }).board.get()),
    event: event.type === 'idea.created' ? event.data.idea.title : event.type,
    tampered: await keyOf(sdk.verifyWebhook(`${webhook.body} `, webhook.headers, webhook.secret)),
  };
}
