import { readFile } from 'node:fs/promises';
import { parser } from '@prometheus-io/lezer-promql';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { buildMetrics } from '../../server/observability/metrics.ts';
import { createTestDatabase } from '../helpers/database.ts';

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string };
}

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { refId: string; expr: string }[];
}

const folder = new URL('../../docs/monitoring/', import.meta.url);
const read = (name: string) => readFile(new URL(name, folder), 'utf8');
const rules: Rule[] = parse(await read('alerts.yaml')).groups.flatMap((group: { rules: Rule[] }) => group.rules);
const dashboard = JSON.parse(await read('dashboard.json'));
const panels: Panel[] = dashboard.panels;
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

/** Replaces the variables of Grafana, because PromQL does not know them. */
function promqlOf(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*');
}

function textsOf(expression: string, nodes: readonly string[]): string[] {
  const found: string[] = [];
  parser.parse(expression).iterate({
    enter(node) {
      if (nodes.includes(node.name)) found.push(expression.slice(node.from, node.to));
    },
  });
  return found;
}

test('every expression of the alerts and the dashboard is valid PromQL', () => {
  expect(expressions.filter(one => textsOf(promqlOf(one), ['⚠']).length > 0)).toEqual([]);
  expect(textsOf('rate(a[5m)', ['⚠'])).not.toEqual([]);
});

test('the alerts and the dashboard use only metrics, labels and values of labels that the server has', async () => {
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const metrics = buildMetrics();
  metrics.countRequest({ method: 'GET', route: '/api/v1/events', status: 500, key: 'internal_error', durationMs: 1 });
  for (const outcome of ['done', 'failed'] as const) metrics.countJob('tell_people', outcome, 1);
  for (const outcome of ['delivered', 'failed'] as const) metrics.countDelivery('mail', outcome, 1);
  const samples = (await metrics.write(database)).text.split('\n').filter(line => !line.startsWith('#'));
  const ownName = (sample: string) => sample.slice(0, sample.search(/[{ ]/));
  const scraped = samples.map(ownName);
  const documented = await readFile(new URL('../metrics.md', folder), 'utf8');

  const names = new Set(expressions.flatMap(one => one.match(/\b(?:idea_board|nodejs|process)_\w+/g) ?? []));
  expect([...names].filter(name => !scraped.includes(name))).toEqual([]);
  const own = [...names].filter(name => name.startsWith('idea_board_')).map(name => name.replace(/_bucket$/, ''));
  expect(own.filter(name => !documented.includes(`\`${name}\``))).toEqual([]);
  const shown = new Set(own);
  const counted = [...documented.matchAll(/^\| `(idea_board_\w+)` \|/gm)].map(([, name]) => name as string);
  expect(
    counted.filter(name => !shown.has(name)),
    'documented metrics that nothing shows',
  ).toEqual([]);

  for (const expression of expressions.map(promqlOf)) {
    const labels = [
      ...textsOf(expression, ['GroupingLabels']).flatMap(list => list.match(/\w+/g) ?? []),
      ...textsOf(expression, ['UnquotedLabelMatcher']).map(matcher => matcher.slice(0, matcher.search(/[=!]/)).trim()),
    ];
    const used = samples.filter(sample => expression.includes(ownName(sample)));
    // Prometheus adds the label `instance` to each metric.
    const known = ['instance', ...used.flatMap(sample => [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label))];
    expect(
      labels.filter(label => !known.includes(label)),
      expression,
    ).toEqual([]);
    for (const [matcher] of expression.matchAll(/(?:outcome|channel)="\w+"/g)) {
      expect(
        used.some(sample => sample.includes(matcher)),
        matcher,
      ).toBe(true);
    }
  }
});

test('docs/monitoring/README.md explains exactly the alerts of alerts.yaml, in the same order, and each alert has a severity and a summary', async () => {
  const explained = [...(await read('README.md')).matchAll(/^\| `(IdeaBoard\w+)` \|/gm)].map(([, name]) => name);
  expect(rules.map(({ alert }) => alert)).toEqual(explained);
  for (const { for: duration, labels, annotations } of rules) {
    expect(duration).toMatch(/^\d+m$/);
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/\.$/);
  }
});

test('the panels of the dashboard have unique ids, fit into the grid of Grafana and do not overlap', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const fields = new Set<string>();
  for (const { type, title, gridPos, targets = [] } of panels) {
    expect(['row', 'timeseries', 'stat']).toContain(type);
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    expect(targets.length > 0, title).toBe(type !== 'row');
    expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(fields.has(`${x},${y}`), title).toBe(false);
        fields.add(`${x},${y}`);
      }
    }
  }
});
