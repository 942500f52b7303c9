import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { pipeline } from 'node:stream/promises';
import { Worker } from 'node:worker_threads';
import type { Compressed } from '../../http/compressed.ts';

/** The script of the Scalar package, which draws the API reference. */
export interface ReferenceScript {
  /** The path contains a hash of the package's code, so browsers may cache the script forever. */
  path: string;
  load(): Promise<Compressed>;
}

export async function findReferenceScript(): Promise<ReferenceScript> {
  const hash = createHash('sha256');
  const file = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference');
  await pipeline(createReadStream(file), hash);
  let script: Promise<Compressed> | undefined;
  return {
    path: `/docs/${hash.digest('hex').slice(0, 16)}.js`,
    load() {
      script ??= compressInWorker().catch(error => {
        script = undefined;
        throw error;
      });
      return script;
    },
  };
}

/**
 * Compresses the script in a worker thread, because the package takes 40 MB of memory. The memory is free again when the
 * thread ends, and the server keeps only the 2.4 MB of the compressed script.
 */
function compressInWorker(): Promise<Compressed> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('compress-reference.ts', import.meta.url));
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', code => reject(new Error(`The worker ended with the code ${code}`)));
  });
}
