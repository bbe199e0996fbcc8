// What is wrong with code in a field.

/** Something wrong with a line, counted from 1. */
export interface Problem {
  line: number;
  message: string;
  /** Whether it is only to be considered. */
  mild?: boolean;
}
