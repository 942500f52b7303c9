import { appendFile, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { info } from '../../contract/openapi/info.ts';
import { loadConfig } from '../../server/config.ts';
import { openAuditLog } from '../../server/observability/open-audit-log.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest, type TestServer, testAppKey } from '../helpers/server.ts';
import { signInOperator } from './operators.ts';

const read = async (server: TestServer, path = '/operator') => {
  const { visitor } = await signInOperator(server);
  const { html, status } = await visitor.get(path);
  expect(status).toBe(200);
  return html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
};

describe('the status page', () => {
  test("the operator's status page shows why the readiness checks of migrations and scheduled jobs fail, and shows the same state as /ready", async () => {
    const server = await startServerForTest();
    await server.sql('delete from heartbeats');
    const [last] = await server.sql<{ name: string }>(
      `delete from schema_migrations where name = (select max(name) from schema_migrations) returning name`,
    );
    expect((await request(server, 'GET /ready')).status).toBe(503);
    const failed = await read(server);
    expect(failed).toContain('Not ready');
    expect(failed).toContain('database Passed');
    expect(failed).toContain(`migrations Failed Pending: core/${last?.name}.`);
    expect(failed).toContain('cron Failed The scheduled jobs have never run. The limit is 120 minutes.');
    expect(failed).toContain('1 pending');
    await server.sql(
      `insert into schema_migrations (stream, name, checksum) values ('core', $1, ''), ('other', '0001_x.sql', '')`,
      [last?.name],
    );
    await server.sql(`insert into heartbeats (name, recorded_at) values ('cron', now())`);
    expect((await request(server, 'GET /ready')).status).toBe(200);
    const passed = await read(server);
    expect(passed).toMatch(
      /Status Ready .* migrations Passed No migration is pending\. cron Passed The scheduled jobs last ran at /,
    );
    expect(passed).toContain('Applied, but unknown to this process: 0001_x.sql');
  });

  test("the operator's status page shows the versions of the server, Node.js and PostgreSQL", async () => {
    const server = await startServerForTest();
    const [postgres] = await server.sql<{ server_version: string }>('show server_version');
    const text = await read(server);
    expect(text).toContain(
      `Idea-Board ${info.version} Node.js ${process.version} PostgreSQL ${postgres?.server_version}`,
    );
  });

  test("the operator's status page counts the jobs of each task, and shows the errors of failing jobs but no payload", async () => {
    const server = await startServerForTest();
    await server.sql(`
      select graphile_worker.add_job('mail_people', '{"text": "a payload"}', max_attempts := 3) from generate_series(1, 5);
      select graphile_worker.add_job('tell_people', '{"text": "a payload"}')`);
    const jobs = await server.sql<{ id: number }>('select id from graphile_worker._private_jobs order by id');
    const set = (index: number, values: string) =>
      server.sql(`update graphile_worker._private_jobs set ${values} where id = $1`, [jobs[index]?.id]);
    await set(0, `attempts = 1, last_error = 'SMTP refused <it>', run_at = '2099-01-02T03:04:00Z'`);
    await set(1, `attempts = 3, last_error = 'Gave up'`);
    await set(2, `locked_at = now(), locked_by = 'worker'`);
    const text = await read(server);
    expect(text).toMatch(
      /mail_people 5 2 1 2 1 \d+ \w+ \d{4}, \d\d:\d\d UTC mail_second_factor_notice 1 1 0 0 0 .* tell_people 1 1 0 0 0 /,
    );
    expect(text).toContain(
      `mail_people Job ${jobs[0]?.id}, attempt 1 of 3 next attempt 2 Jan 2099, 03:04 UTC SMTP refused &lt;it&gt;`,
    );
    expect(text).toContain(`Job ${jobs[1]?.id}, attempt 3 of 3 no attempt left Gave up`);
    expect(text).not.toContain('a payload');
  });
});

describe('the page of the audit log', () => {
  test("if the setting AUDIT_LOG does not name an ordinary file, the operator's audit log page says where the server writes the audit entries", async () => {
    for (const AUDIT_LOG of ['stdout', '/dev/null']) {
      const server = await startServerForTest({ environment: { AUDIT_LOG } });
      expect(await read(server, '/operator/audit')).toContain(`AUDIT_LOG is ${AUDIT_LOG} , so they go there`);
    }
  });

  test("the operator's audit log page shows the last 50 entries even of a damaged file, newest first, and reports a missing file", async () => {
    const AUDIT_LOG = join(tmpdir(), `idea-board-audit-${process.pid}-${Date.now()}.log`);
    onTestFinished(() => rm(AUDIT_LOG, { force: true }));
    const logger = pino({ level: 'silent' });
    const redactor = buildRedactor({ appKey: testAppKey, settings: loadConfig({}) });
    const { audit, close } = openAuditLog({ AUDIT_LOG }, redactor, logger);
    onTestFinished(close);
    const server = await startServerForTest({ environment: { AUDIT_LOG }, dependencies: { audit } });
    const { visitor, password } = await signInOperator(server);
    const { accountId } = await createWorld(server);
    const path = `/operator/accounts/${accountId}/plan`;
    await visitor.submit(path, path, { plan: 'business', current_password: password });
    const rows = async (query = '') => {
      const { html } = await visitor.get(`/operator/audit${query}`);
      return html
        .split('<tr>')
        .slice(2)
        .map(row =>
          row
            .replaceAll(/<[^>]*>/g, ' ')
            .replaceAll(/\s+/g, ' ')
            .trim(),
        );
    };
    const [newest = '', before] = await rows();
    expect(newest).toMatch(
      / UTC account\.plan_changed by operator by_user_id \d+ account_id \d+ from community to business$/,
    );
    expect(before).toContain('second_factor.enabled');
    expect((await rows('?entries=all')).some(row => row.includes('operator.viewed'))).toBe(true);

    const entry = (n: number) =>
      `${JSON.stringify({ log: 'audit', time: '2026-03-02T09:00:00.000Z', event: 'user.created', user_id: n, name: 'x'.repeat(900) })}\n`;
    await appendFile(AUDIT_LOG, Array.from({ length: 2_000 }, (_, n) => entry(n)).join(''));
    await appendFile(AUDIT_LOG, '{"log":"audit","time":\nnot JSON\n{"log":"other"}\n{"log":"audit","time":"2026');
    const last = await rows();
    expect([last.length, last[0]?.includes('user_id 1999 '), last[49]?.includes('user_id 1950 ')]).toEqual([
      50,
      true,
      true,
    ]);
    expect(Math.max(...last.map(row => row.length))).toBeLessThan(400);
    expect((await stat(AUDIT_LOG)).size).toBeGreaterThan(1_000_000);

    await truncate(AUDIT_LOG);
    expect((await visitor.get('/operator/audit')).html).toContain('There is no such entry');
    await rm(AUDIT_LOG);
    const missing = await visitor.get('/operator/audit');
    expect([missing.status, missing.html.includes('cannot be read now')]).toEqual([200, true]);
  });
});
