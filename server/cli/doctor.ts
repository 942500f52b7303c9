import { verb } from './command.ts';
import { diagnose } from './diagnosis/diagnose.ts';
import type { Finding } from './diagnosis/finding.ts';
import { type OutputOptions, oneLine, print } from './output.ts';

export const addDoctorCommand = verb({
  description:
    'Says what is wrong with this installation and what to do about it: settings, database, migrations and data. Changes nothing, and exits with 1 when something is an error.',
  examples: ['doctor', 'doctor --json'],
  input: {},
  perform: (_, output) => run(output),
});

async function run(output: OutputOptions) {
  const findings = await diagnose(process.env);
  const isWell = findings.every(finding => finding.level !== 'error');
  print(output, { ok: isWell, findings }, () => formatFindings(findings));
  if (!isWell) process.exitCode = 1;
}

function formatFindings(findings: Finding[]): string {
  const count = (level: Finding['level']) => findings.filter(finding => finding.level === level).length;
  const lines = findings.flatMap(({ level, what, remedy }) => [
    `${level.padEnd(7)}  ${oneLine(what)}`,
    ...(remedy === null ? [] : [`         -> ${oneLine(remedy)}`]),
  ]);
  return [...lines, '', `Errors: ${count('error')}. Warnings: ${count('warning')}.`].join('\n');
}
