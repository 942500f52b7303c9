import { readFileSync } from 'node:fs';
import { cpus, platform, totalmem } from 'node:os';
import { quantile } from '../figures.ts';
import { describeBigMerge } from './big-merge.ts';
import type { Harm } from './harm.ts';
import type { SoakReport } from './run-soak.ts';

const heading = '## Soak';
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** The figures, for people. */
export function describeSoak(report: SoakReport): string {
  const { observations, ledger, memory, harms, bigMerge, faults } = report;
  const answers = [...observations.answers.values()].reduce((sum, count) => sum + count, 0);
  return `${heading}

\`npm run soak -- --minutes ${report.minutes}\`, on ${report.startedAt.toISOString().slice(0, 10)}: two servers behind a balancer and a worker, each as \`npm start\` and
\`npm run worker\` start them, a PostgreSQL that writes every commit to the disk, and 12 clients that send one request after
the other and repeat under its \`Idempotency-Key\` what was answered with 503.
${describeMachine(report)}

${describeFaults(Object.values(faults).flat())}

| what | figure |
|---|---|
| Requests answered | ${answers} |
| Answers outside the contract, unexpected, or not what had been written before | ${faults.answers.length} |
| Requests that a server left without an answer | ${faults.unanswered.length} |
| 500 \`internal_error\` | ${countOf(observations.answers, 500)} |
| 503 \`service_unavailable\`, while PostgreSQL was away | ${countOf(observations.answers, 503)} |
| Requests sent again; of these, already done | ${observations.repeated}; ${observations.replayed} |
| Ideas, comments and standing votes acknowledged | ${ledger.ideas.size}, ${ledger.comments.size}, ${standing(ledger)} |
| Lost, doubled, or otherwise not in the database as acknowledged; tallies that do not match | ${faults.database.length} |
| Events recorded | ${report.events} |
| Events never told, told for nothing, or wrongly signed | ${faults.events.length} |
| Webhooks that arrived once more | ${report.deliveries - report.events} |
| Answers: half within, 99 of 100 within, all within | ${latencies(observations.latenciesMs)} |
${harms.map(hangingRows).join('')}
${describeBigMerge(bigMerge)}.

| minute | what was done | every server answers again after | an event is told again after |
|---|---|---|---|
${harms.map(harmRow).join('\n')}

| process | minutes | MB at first | MB at last | MB at most | MB a minute | flat |
|---|---|---|---|---|---|---|
${memory
  .map(
    one =>
      `| ${one.name} | ${one.minutes.toFixed(1)} | ${one.firstMb.toFixed(0)} | ${one.lastMb.toFixed(0)} | ${one.mostMb.toFixed(0)} | ${one.mbPerMinute.toFixed(2)} | ${one.isFlat ? 'yes' : 'no'} |`,
  )
  .join('\n')}

Resident memory, measured every two seconds, without each process's first minute, in which the heap takes the room that
it lives in. Flat: the straight line that fits best grows by less than 10 % or 15 MB over the time that was measured.
`;
}

function describeFaults(faults: string[]): string {
  if (faults.length === 0) return '**Nothing was wrong.**';
  const first = faults.slice(0, 20).map(fault => `- ${fault}`);
  return [`**${faults.length} things were wrong**, the first of them:`, '', ...first].join('\n');
}

function standing({ votes }: SoakReport['ledger']): number {
  return votes
    .values()
    .filter(value => value !== 'none')
    .toArray().length;
}

/** Puts the section in the place of the one that is there, or at the end. */
export function replaceSection(text: string, section: string): string {
  const start = text.indexOf(`${heading}\n`);
  if (start < 0) return `${text.trimEnd()}\n\n${section}`;
  const next = text.indexOf('\n## ', start + heading.length);
  return `${text.slice(0, start)}${section}${next < 0 ? '' : text.slice(next)}`;
}

function describeMachine({ postgresVersion, loadBefore }: SoakReport): string {
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model ?? 'unknown processor';
  return `Idea-Board ${version}, Node ${process.versions.node}, PostgreSQL ${postgresVersion}, ${platform()}; ${cpus().length} cores (${model}) and ${memoryGb} GB, which clients, balancer,
receiver and PostgreSQL share. Before the soak began, the load of the machine was ${loadBefore.toFixed(1)}, of other programs.`;
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
  return `| While 100 endpoints of one account hang: another account's webhook arrives within | ${hanging.webhookMs.toFixed(0)} ms |
| While they hang: a mail arrives within | ${hanging.mailMs.toFixed(0)} ms |
`;
}

function harmRow({ atMinute, what, recovered }: Harm): string {
  const seconds = (ms: number | undefined) => (ms === undefined ? '' : `${(ms / 1000).toFixed(1)} s`);
  return `| ${atMinute.toFixed(1)} | ${what} | ${seconds(recovered?.answeredMs)} | ${seconds(recovered?.toldMs)} |`;
}
