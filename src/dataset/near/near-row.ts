/** A row of a table that is to go, with the row that it resembles. */
export interface NearRow {
  readonly row: number;
  /** The row that speaks for the removal. `greedy`: always a kept one. `components`: its nearest in the cluster. */
  readonly pivot: number;
  /** Cosine of the two. */
  readonly cosine: number;
  /** The kept row of the cluster. */
  readonly cluster: number;
}
