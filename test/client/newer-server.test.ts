import { describe, expect, test } from 'vitest';
import { IdeaBoard, isIdeaBoardError } from '../../client/main.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Fault, startGatewayForTest } from './gateway.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'write');

async function clientBehindGateway(newer: Fault) {
  const gateway = await startGatewayForTest(server.baseUrl);
  gateway.plan(newer, newer);
  return new IdeaBoard({ baseUrl: gateway.url, token });
}

describe('a newer server', () => {
  test('the client keeps unknown fields in responses of a newer server', async () => {
    const id = await insertIdea(server, world);
    const client = await clientBehindGateway(({ body }) => {
      (body.data?.[0] ?? body).reactions = { heart: 3 };
      body.total = 1;
    });
    expect(await client.ideas.get(id)).toMatchObject({ id, reactions: { heart: 3 } });
    expect(await client.ideas.list()).toMatchObject({ total: 1, data: [{ reactions: { heart: 3 } }] });
  });

  test('the client returns unknown enum values of a newer server unchanged', async () => {
    const id = await insertIdea(server, world);
    const client = await clientBehindGateway(({ body }) => {
      body.status = 'on_hold';
    });
    expect((await client.ideas.get(id)).status).toBe('on_hold');
  });

  test('an unknown error key from a newer server reaches the `default` branch of a `switch` over the key', async () => {
    const client = await clientBehindGateway(answer => {
      answer.status = 451;
      answer.body = { error: { key: 'board_embargoed', message: 'Not in this country.', until: '2030-01-01' } };
    });
    const outcome = await client.ideas.create({ title: 'Here', body: 'Or there.' }).then(
      () => 'created',
      (error: unknown) => {
        if (!isIdeaBoardError(error, 'createIdea')) throw error;
        switch (error.key) {
          case 'board_frozen':
            return 'frozen';
          default:
            return error.message;
        }
      },
    );
    expect(outcome).toMatch(/^createIdea failed with 451 board_embargoed: Not in this country\. Request id: /);
  });

  test('the client accepts an unexpected success status and unknown fields of validation issues from a newer server', async () => {
    const client = await clientBehindGateway(answer => {
      answer.status = answer.status === 201 ? 202 : answer.status;
      if (answer.body.error)
        answer.body.error.issues = [{ path: ['body'], code: 'new', message: 'New.', hint: 'Old.' }];
    });
    expect(await client.ideas.create({ title: 'Later', body: 'Perhaps.' })).toMatchObject({ title: 'Later' });
    await expect(client.ideas.create({ title: '', body: '' })).rejects.toMatchObject({
      key: 'validation_failed',
      issues: [{ code: 'new' }],
    });
  });

  test('if the rate limit headers of a response have an unknown format, the client sets rateLimit to undefined', async () => {
    const client = await clientBehindGateway(({ headers }) => {
      for (const name of Object.keys(headers)) if (/ratelimit/.test(name)) headers[name] = 'plenty';
    });
    expect((await client.board.get().withResponse()).rateLimit).toBeUndefined();
  });
});
