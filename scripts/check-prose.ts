import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/*
 * Counts indirect constructions in the prose of each folder: comments, docs, messages and test names. Fails if a folder
 * has more than 10 for each 1,000 lines of prose, or if a test name does not make sense alone. With files or folders as
 * arguments, checks only these, and lists each construction with its place.
 */

const limit = 10;

/**
 * Matches unusual words, inversions, and clauses that stand in place of a noun. Each of these constructions has a
 * plainer form.
 */
const constructions = new RegExp(
  [
    // The word "what" is plain after a verb of saying or knowing.
    '(?<!(?:says?|said|knows?|sees?|shows?|explains?|decides?) )what (?!to |kind |happen)[a-z]+',
    'wh(?:oever|omever|atever|ichever|om)',
    '(?:of|to|for|by|from|on|with|under|after|before|about|at|in|against) (?:which|whose|what|who)',
    '(?:those|that|he|ones?|some(?:body|one)|nobody|every(?:body|one)|anybody|others?) (?:who|whose|which)',
    '(?:anew|there(?:of|in|by|upon)|where(?:by|in|upon)|here(?:by|in)|hence)',
    '(?:is|are|was|were|be|been|being) told',
    '(?:nothing|nobody|none|neither) (?:of|but|that|which|else)',
    '(?:is|are|was|were) (?:of (?:the|an?|nobody|its|their)|none|nothing)',
    '(?:so|nor|neither|as|than) (?:is|are|was|were|does|do|did|has|have|had|can|may)',
    '(?:that|those) (?:of|to|for|by|from|on|with|in) (?:the|an?|its?|their|one|which)',
    '(?:news|tidings|hindered|mended|forsaken|wary)',
  ]
    .map(one => String.raw`\b(?:${one})\b`)
    .join('|'),
  'gi',
);

/** Matches the start of a test name that continues the sentence of its `describe`. */
const fragments =
  /^(?:is|are|was|were|of|by|that|which|what|with|in|has|have|can|may|does|do|gets?|answers?|says?|keeps?|refuses?|finds?|leaves?|sends?|shows?|takes?|makes?|needs?|goes|stays?|ends?|starts?)\b/i;

/**
 * Matches a test name before the test's function. The name comes after `test(`, or after the table of the test's cases.
 */
const testNames = /(?:\b(?:test|it)(?:\.\w+)?|\))\(\s*(['"`])(.+?)\1,\s*(?:async )?(?:\(|\w+ =>)/g;

const folders = ['server', 'contract', 'client', 'test', 'scripts', 'docs', 'README.md', 'CONTRIBUTING.md'];
const given = process.argv.slice(2);
const files = execFileSync('git', ['ls-files', '--', ...(given.length > 0 ? given : folders)], { encoding: 'utf8' })
  .split('\n')
  .filter(
    file =>
      /\.(?:ts|mjs|md|eta|sql|yaml)$|\/text\/en\/\w+\.json$/.test(file) &&
      !/client\/(?:contract|api)\.|\.snap$/.test(file),
  );

const counts = new Map<string, { lines: number; found: number }>();
const problems: string[] = [];
for (const file of files) {
  const folder = file.split('/')[0] as string;
  const count = counts.get(folder) ?? { lines: 0, found: 0 };
  counts.set(folder, count);
  const content = readFileSync(file, 'utf8');
  for (const { line, text } of proseOf(file, content)) {
    count.lines += 1;
    const found = [...text.matchAll(constructions)].map(([match]) => match);
    count.found += found.length;
    if (given.length > 0 && found.length > 0) console.log(`${file}:${line}: ${found.join(', ')}: ${text.trim()}`);
  }
  for (const [, , name = ''] of content.matchAll(testNames)) {
    if (fragments.test(name)) problems.push(`${file}: the test name does not make sense alone: ${name}`);
  }
}

for (const [folder, { lines, found }] of counts) {
  const rate = (1000 * found) / Math.max(lines, 1);
  console.log(`${folder.padEnd(16)} ${lines} lines of prose, ${found} constructions, ${rate.toFixed(1)} in 1,000`);
  if (rate > limit) problems.push(`${folder} has more than ${limit} indirect constructions in 1,000 lines of prose`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

/**
 * Yields the prose of a file. The prose of a document is its text without code. The prose of a program is its comments
 * and longer strings.
 */
function* proseOf(file: string, content: string) {
  let isComment = false;
  let isCode = false;
  for (const [index, text] of content.split('\n').entries()) {
    const line = index + 1;
    if (file.endsWith('.md')) {
      if (text.startsWith('```')) isCode = !isCode;
      else if (!isCode && /\w+ \w+ \w+/.test(text)) yield { line, text };
      continue;
    }
    if (/^\s*\/\*/.test(text)) isComment = true;
    const isProse =
      isComment || /^\s*(?:\/\/|--|#)|\s\/\/ /.test(text) || /['"`>][^'"`<]*[a-z,]+ [a-z]+ [a-z]+ [^'"`<]*/i.test(text);
    if (isProse && /\w+ \w+/.test(text)) yield { line, text };
    if (isComment && text.includes('*/')) isComment = false;
  }
}
