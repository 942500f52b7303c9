import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { showProgress } from '../../server/cli/progress.ts';

function openStream(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY });
  return { stream: stream as unknown as NodeJS.WriteStream, written: () => String(stream.read() ?? '') };
}

const counts = { imported: { idea: 1_500 }, skipped: { vote: 20 }, refused: 3 };

test('on a terminal, an import shows a progress bar, writes messages above the bar, and removes the bar at the end', () => {
  const { stream, written } = openStream(true);
  const progress = showProgress(stream, 200, { bytes: 50 });
  progress.update(counts);
  const bar = '[######------------------] 25 %, 1,523 records';
  expect(written()).toBe(bar);
  progress.say('line 7: too long');
  expect(written()).toBe(`\r${' '.repeat(bar.length)}\rline 7: too long\n${bar}`);
  progress.end();
  expect(written()).toBe(`\r${' '.repeat(bar.length)}\r`);
});

test('without a terminal, an import shows no progress bar, and in the first ten seconds writes only messages, for example about invalid records', () => {
  const { stream, written } = openStream(false);
  const progress = showProgress(stream, undefined, { bytes: 50 });
  progress.update(counts);
  progress.say('line 7: too long');
  progress.end();
  expect(written()).toBe('line 7: too long\n');
});
