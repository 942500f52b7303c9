import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { linearRegression, mean } from 'simple-statistics';

export interface MemoryFigures {
  name: string;
  minutes: number;
  firstMb: number;
  lastMb: number;
  mostMb: number;
  /** The growth of the memory per minute: the slope of a linear regression. */
  mbPerMinute: number;
  isFlat: boolean;
}

interface Series {
  name: string;
  startedAt: number;
  samples: { minutes: number; mb: number }[];
}

/** The length of the warm-up. A process first grows its heap to the allowed size, and this growth is not a leak. */
const warmUpMinutes = 1;

/**
 * Memory that grows by less than this share, or by less than `noiseMb`, counts as constant, because garbage collection
 * causes such changes.
 */
const flatShare = 0.1;
const noiseMb = 15;

export function watchMemory(intervalMs: number) {
  const alive = new Map<number, Series>();
  const all: Series[] = [];
  const timer = setInterval(sample, intervalMs);

  async function sample() {
    for (const [pid, series] of alive) {
      const residentKb = await readResident(pid);
      // The process has just ended, so the system reports no memory for it.
      if (!residentKb) continue;
      series.samples.push({ minutes: (performance.now() - series.startedAt) / 60_000, mb: residentKb / 1024 });
    }
  }

  return {
    follow(name: string, pid: number) {
      const series: Series = { name, startedAt: performance.now(), samples: [] };
      alive.set(pid, series);
      all.push(series);
    },
    leave: (pid: number) => void alive.delete(pid),
    close: () => clearInterval(timer),
    /**
     * Returns the figures of the processes that have enough samples. In a short test, the warm-up takes a tenth of the
     * test.
     */
    figures: (minutes: number) => all.flatMap(series => figuresOf(series, Math.min(warmUpMinutes, minutes / 10))),
  };
}

async function readResident(pid: number): Promise<number | undefined> {
  const answer = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]).catch(() => undefined);
  return answer && Number(answer.stdout.trim());
}

function figuresOf({ name, samples }: Series, warmUp: number): MemoryFigures[] {
  const warm = samples.filter(({ minutes }) => minutes >= warmUp);
  const [first] = warm;
  const last = warm.at(-1);
  if (!first || !last || warm.length < 5) return [];
  const mbPerMinute = linearRegression(warm.map(({ minutes, mb }) => [minutes, mb])).m;
  const meanMb = mean(warm.map(({ mb }) => mb));
  const grownMb = mbPerMinute * (last.minutes - first.minutes);
  return [
    {
      name,
      minutes: last.minutes - first.minutes,
      firstMb: first.mb,
      lastMb: last.mb,
      mostMb: Math.max(...warm.map(({ mb }) => mb)),
      mbPerMinute,
      isFlat: grownMb < Math.max(noiseMb, flatShare * meanMb),
    },
  ];
}
