import { expect, test } from 'vitest';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';

test('an OAuth authorization request with more than 100 parameters is refused and not stored', async () => {
  const server = await startServerForTest();
  const redirect = 'http://localhost/callback';
  const json = { redirect_uris: [redirect], token_endpoint_auth_method: 'none' };
  const { body: client } = await request(server, 'POST /oauth/register', { json });
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirect,
    response_type: 'code',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  });
  const kept = await server.sql('select from oauth_records');
  for (let n = 0; query.size <= 100; n++) query.append(`a${n}`, '1');
  expect((await request(server, `GET /oauth/authorize?${query}`)).status).toBe(400);
  expect(await server.sql('select from oauth_records')).toHaveLength(kept.length);
  // A request with exactly 100 parameters is allowed.
  query.delete('a0');
  expect((await request(server, `GET /oauth/authorize?${query}`)).status).toBe(303);
});
