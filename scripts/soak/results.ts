import { readFileSync } from 'node:fs';
import { cpus, platform, totalmem } from 'node:os';
import { quantile } from 'simple-statistics';
import { markdownTable } from '../generated-file.ts';
import { describeBigMerge } from './big-merge.ts';
import type { Harm } from './harm.ts';
import type { MemoryFigures } from './memory.ts';
import type { SoakReport } from './run-soak.ts';

export const soakHeading = '## Soak';
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

export function describeSoak(report: SoakReport): string {
  const { observations, ledger, memory, harms, bigMerge, faults } = report;
  const answers = [...observations.answers.values()].reduce((sum, count) => sum + count, 0);
  return `${soakHeading}

\`npm run soak -- --minutes ${report.minutes}\`, on ${report.startedAt.toISOString().slice(0, 10)}: two servers behind a load balancer and a worker, started by
\`npm start\` and \`npm run worker\`, a PostgreSQL that writes every commit to the disk, and 12 clients. Each client sends one
request after the other and retries a 503 with the same \`Idempotency-Key\`.
${describeMachine(report)}

${describeFaults(Object.values(faults).flat())}

| measure | value |
|---|---|
| Requests answered | ${answers} |
| Responses that violate the contract, are unexpected, or contradict an earlier write | ${faults.answers.length} |
| Requests without a response | ${faults.unanswered.length} |
| 500 \`internal_error\` | ${countOf(observations.answers, 500)} |
| 503 \`service_unavailable\`, while PostgreSQL was stopped | ${countOf(observations.answers, 503)} |
| Retried requests; retried requests that the server had already executed | ${observations.repeated}; ${observations.replayed} |
| Acknowledged ideas, comments and votes | ${ledger.ideas.size}, ${ledger.comments.size}, ${standing(ledger)} |
| Database rows that are lost, duplicated or different from the request, and wrong tallies | ${faults.database.length} |
| Events recorded | ${report.events} |
| Events without a delivery, deliveries without an event, and wrong signatures | ${faults.events.length} |
| Webhooks that arrived twice | ${report.deliveries - report.events} |
| Response times: median, 99th percentile, maximum | ${latencies(observations.latenciesMs)} |
${harms.map(hangingRows).join('')}
${describeBigMerge(bigMerge)}.

${markdownTable(['minute', 'fault', 'time until all servers respond again', 'time until the worker delivers an event again'], harms.map(harmRow))}
${markdownTable(['process', 'minutes', 'first MB', 'last MB', 'maximum MB', 'MB per minute', 'flat'], memory.map(memoryRow))}
The table of processes shows resident memory, measured every two seconds. It omits the first minute of each process,
because the heap still grows to its working size. "Flat" means that the best-fitting line grows by less than 10 % or
15 MB in total.
`;
}

function describeFaults(faults: string[]): string {
  if (faults.length === 0) return '**No problem was found.**';
  const first = faults.slice(0, 20).map(fault => `- ${fault}`);
  return [`**${faults.length} problems were found.** The first ones:`, '', ...first].join('\n');
}

function standing({ votes }: SoakReport['ledger']): number {
  return votes
    .values()
    .filter(value => value !== 'none')
    .toArray().length;
}

/** Replaces the section with this heading. Appends the section if it is missing. */
export function replaceSection(text: string, heading: string, section: string): string {
  const start = text.indexOf(`${heading}\n`);
  if (start < 0) return `${text.trimEnd()}\n\n${section}`;
  const next = text.indexOf('\n## ', start + heading.length);
  return `${text.slice(0, start)}${section}${next < 0 ? '' : text.slice(next)}`;
}

export function describeMachine({
  postgresVersion,
  loadBefore,
}: Pick<SoakReport, 'postgresVersion' | 'loadBefore'>): string {
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model ?? 'unknown processor';
  return `Idea-Board ${version}, Node ${process.versions.node}, PostgreSQL ${postgresVersion}, ${platform()}; ${cpus().length} cores (${model}) and ${memoryGb} GB.
Clients, load balancer, webhook receiver and PostgreSQL run on the same machine.
The load average of this machine before the soak was ${loadBefore.toFixed(1)}.`;
}

function countOf(answers: Map<string, number>, status: number): number {
  let sum = 0;
  for (const [answer, count] of answers) if (answer.endsWith(` ${status}`)) sum += count;
  return sum;
}

function latencies(values: number[]): string {
  return [0.5, 0.99, 1].map(share => `${quantile(values, share).toFixed(0)} ms`).join(', ');
}

function hangingRows({ hanging }: Harm): string {
  if (!hanging) return '';
  return `| Delivery of a webhook while 100 endpoints of another account hang | ${hanging.webhookMs.toFixed(0)} ms |
| Delivery of a mail while these 100 endpoints hang | ${hanging.mailMs.toFixed(0)} ms |
`;
}

function harmRow({ atMinute, what, recovered }: Harm): string[] {
  const seconds = (ms: number | undefined) => (ms === undefined ? '' : `${(ms / 1000).toFixed(1)} s`);
  return [atMinute.toFixed(1), what, seconds(recovered?.answeredMs), seconds(recovered?.toldMs)];
}

function memoryRow({ name, minutes, mbPerMinute, isFlat, ...mb }: MemoryFigures): string[] {
  const figures = [mb.firstMb, mb.lastMb, mb.mostMb].map(value => value.toFixed(0));
  return [name, minutes.toFixed(1), ...figures, mbPerMinute.toFixed(2), isFlat ? 'yes' : 'no'];
}
