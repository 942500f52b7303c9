export type { Delivery } from './deliveries.ts';
export type { FailOptions, FailureKeyOf } from './failures.ts';
export { startTestServer, type TestServer, type TestServerOptions } from './test-server.ts';
