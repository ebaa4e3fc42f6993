// The lists of what can be chosen and shown: tabs, bands, states of runs, severities of findings, and which
// hyperparameters are seeds. Python has the same states, shapes, bands and seeds; tests/fixtures/rules/words.json
// tests both.

/** Tabs by their order; their place is their key. @type {readonly [string, string][]} */
export const TABS = [
  ["curves", "Curves"],
  ["media", "Media"],
  ["hparams", "Hparams"],
  ["sql", "SQL"],
  ["health", "Health"],
];

/** What is drawn around the mean of a group; none draws each run. @type {Record<string, string>} */
export const BANDS = {
  std: "Mean ± standard deviation",
  sem: "Mean ± standard error",
  ci95: "Mean with its 95 % confidence interval",
  minmax: "Mean, minimum to maximum",
  quantiles: "Median, quartile to quartile",
  none: "Each run in its group’s colour",
};

/** The shape of each state of a run. @type {Record<string, string>} */
export const STATES = { running: "●", stalled: "◐", finished: "○", crashed: "✕", diverged: "≁" };
export const UNREAD = "·"; // the shape of a run that the server has not read yet

/** Severities of findings, worst first: shape and noun. @type {Record<string, [string, string]>} */
export const SEVERITIES = { error: ["✕", "error"], warning: ["▲", "warning"], info: ["●", "note"] };

const REPEATS = /^(.*[_./-])?(seed|run|trial|repeat|repetition|replicate|fold)s?$/is;
/** Whether a hyperparameter tells repeats of one configuration apart. @param {string} hparam */
export const tellsRepeats = (hparam) => REPEATS.test(hparam);
