import { buildApp } from '../../server/app.ts';
import { loadConfig } from '../../server/config.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { openDependencies } from '../../server/open-dependencies.ts';
import { answerCalls, readUsage } from './child.ts';

/** This server as it runs in production, with limits that are counted and never reached, unless the caller sets one. */
const config = loadConfig({
  DATABASE_URL: process.env.DATABASE_URL,
  APP_KEY: Buffer.alloc(32).toString('base64'),
  RATE_LIMIT_READ: process.env.RATE_LIMIT_READ ?? '1000000000',
  RATE_LIMIT_WRITE: '1000000000',
  RATE_LIMIT_IP: '1000000000',
});
const { server } = await openDependencies(config.DATABASE_URL ?? '', config, buildLogger(config));
const app = await buildApp(server);
const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });

answerCalls<'url' | 'usage'>(message => (message === 'url' ? baseUrl : readUsage()));
