/** Runs in a worker thread. Sends the compressed script of the Scalar package to the server. */
import { parentPort } from 'node:worker_threads';
import scalar from '@scalar/fastify-api-reference';
import fastify from 'fastify';
import { compress } from '../../http/compressed.ts';

const app = fastify();
await app.register(scalar, { routePrefix: '/docs', configuration: { url: '/' } });
const { payload } = await app.inject('/docs/js/scalar.js');
parentPort?.postMessage(compress(payload));
