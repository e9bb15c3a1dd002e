/** The job that sbatch says it has submitted. */
export interface SubmittedJob {
  readonly id: string;
  /** Null for the only cluster. */
  readonly cluster: string | null;
}

const PARSABLE = /^(\d+)(?:;([A-Za-z0-9_.-]+))?$/;
const SENTENCE = /^Submitted batch job (\d+)(?: on cluster ([A-Za-z0-9_.-]+))?$/;

/**
 * The id in what sbatch printed, `--parsable` or not, whatever a site's wrapper prints around it. Undefined when no line is
 * exactly an id: then nobody can say what was submitted.
 */
export const parseReply = (stdout: string): SubmittedJob | undefined => {
  for (const line of stdout.split(/\r?\n/).toReversed()) {
    const match = PARSABLE.exec(line.trim()) ?? SENTENCE.exec(line.trim());
    const id = match?.[1];
    if (id !== undefined) return { id, cluster: match?.[2] ?? null };
  }
  return undefined;
};
