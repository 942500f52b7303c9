import { runServer } from './run-server.ts';
import { explainFailure } from './start-failure.ts';

try {
  await runServer(process.env);
} catch (error) {
  const line = explainFailure(error);
  // What has a plain cause is told in one line; a fault of ours keeps its stack.
  console.error(line ?? error);
  process.exit(1);
}
