import type { Row, Summary } from './growth-report.ts';
import { groups } from './growth-requests.ts';

/** The sizes of the chart in pixels: of one panel, of its plot and of the margins around the plot. */
const panel = { width: 500, height: 390 };
const plot = { left: 52, top: 40, width: 270, height: 300 };
const labelHeight = 15;
/** Colors with enough contrast on a light and on a dark background. */
const colors = ['#0969da', '#bf3989', '#1a7f37', '#bc4c00', '#8250df', '#b58a00', '#cf222e', '#0f8b8d'];

/**
 * Draws the medians of all requests as an SVG image: a panel for each group, a line for each request, logarithmic axes.
 * The image has its own background, so that it is readable on light and dark pages.
 */
export function drawGrowth({ ideas, rows }: Summary): string {
  const medians = rows.flatMap(({ figures }) => figures.map(({ p50Ms }) => p50Ms));
  const scale: Scale = { ideas, ticks: ticksAround(medians) };
  const panels = groups.map((group, index) => {
    const x = (index % 2) * panel.width;
    const y = Math.floor(index / 2) * panel.height;
    const ofGroup = rows.filter(row => row.group === group && row.figures.length > 0);
    return `<g transform="translate(${x} ${y})">${drawPanel(group, ofGroup, scale)}</g>`;
  });
  const [width, height] = [2 * panel.width, Math.ceil(groups.length / 2) * panel.height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>Median time of each request in milliseconds, by the number of ideas</title>
<style>${style}</style>
<rect class="background" width="${width}" height="${height}" rx="8"/>
${panels.join('\n')}
</svg>
`;
}

const style = `
text { font: 12px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; }
.title { font-size: 14px; font-weight: 600; }
.background { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.line { fill: none; stroke-width: 2; }
.leader { fill: none; stroke-width: 1; opacity: 0.5; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .background { fill: #0d1117; }
  .grid { stroke: #3d444d; }
  .line, .leader { filter: brightness(1.4); }
  circle { filter: brightness(1.4); }
}
`;

interface Scale {
  /** The numbers of ideas at the vertical lines. */
  ideas: number[];
  /** The times at the horizontal lines, in milliseconds. The first and the last are the ends of the axis. */
  ticks: number[];
}

function drawPanel(title: string, rows: Row[], scale: Scale): string {
  const right = plot.left + plot.width;
  const grid = [
    ...scale.ticks.map(ms => {
      const y = yOf(ms, scale);
      return `<path class="grid" d="M${plot.left} ${y}H${right}"/><text x="${plot.left - 8}" y="${y + 4}" text-anchor="end">${ms}</text>`;
    }),
    ...scale.ideas.map(ideas => {
      const x = xOf(ideas, scale);
      const text = ideas.toLocaleString('en');
      return `<path class="grid" d="M${x} ${plot.top}V${plot.top + plot.height}"/><text x="${x}" y="${plot.top + plot.height + 18}" text-anchor="middle">${text}</text>`;
    }),
  ];
  const labels = placeLabels(rows.map(({ figures }) => yOf(figures.at(-1)?.p50Ms ?? 1, scale)));
  const lines = rows.map(({ name, figures }, index) => {
    const color = colors[index % colors.length];
    const dashes = index < colors.length ? '' : ' stroke-dasharray="5 4"';
    const points = figures.map(({ ideas, p50Ms }) => [xOf(ideas, scale), yOf(p50Ms, scale)] as const);
    const [lastX, lastY] = points.at(-1) ?? [0, 0];
    const labelY = labels[index] ?? 0;
    return `<path class="line" stroke="${color}"${dashes} d="M${points.map(point => point.join(' ')).join('L')}"/>${points
      .map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${color}"/>`)
      .join(
        '',
      )}<path class="leader" stroke="${color}" d="M${lastX + 4} ${lastY}L${right + 22} ${labelY}H${right + 28}"/><text x="${right + 32}" y="${labelY + 4}">${name}</text>`;
  });
  return `<text class="title" x="${plot.left}" y="24">${title}, median in ms</text>${grid.join('')}
${lines.join('\n')}`;
}

/** Moves labels apart, so that they do not overlap. Keeps their order from top to bottom. */
function placeLabels(wanted: number[]): number[] {
  const order = wanted.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y);
  const placed: number[] = [];
  for (const [rank, { y }] of order.entries()) {
    const above = placed.at(-1);
    const lowest = plot.top + plot.height - (order.length - 1 - rank) * labelHeight;
    placed.push(
      Math.min(
        Math.max(y, above === undefined ? y : above + labelHeight),
        Math.max(lowest, (above ?? -Infinity) + labelHeight),
      ),
    );
  }
  const result: number[] = [];
  for (const [rank, { index }] of order.entries()) result[index] = placed[rank] ?? 0;
  return result;
}

function xOf(ideas: number, { ideas: all }: Scale): number {
  return Math.round(plot.left + logShare(ideas, all) * plot.width);
}

function yOf(ms: number, { ticks }: Scale): number {
  return Math.round(plot.top + (1 - logShare(ms, ticks)) * plot.height);
}

/** Returns the place of a value on a logarithmic axis, from 0 to 1. */
function logShare(value: number, axis: number[]): number {
  const [first, last] = [Math.log(axis[0] ?? 1), Math.log(axis.at(-1) ?? 1)];
  return last === first ? 0.5 : (Math.log(value) - first) / (last - first);
}

/** Returns the ticks from the largest one that no median is below to the smallest one that no median is above. */
function ticksAround(medians: number[]): number[] {
  const powers = Array.from({ length: 10 }, (_, index) => index - 4);
  const all = powers.flatMap(power => [1, 2, 5].map(digit => Number(`${digit}e${power}`)));
  const first = all.findLastIndex(tick => tick <= Math.min(...medians));
  const last = all.findIndex(tick => tick >= Math.max(...medians));
  return all.slice(first, last + 1);
}
