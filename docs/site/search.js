// The search of the site. Zensical's own finds only sections that contain every typed word, so most questions find nothing.
// This worker runs in front of it: it chooses the page that answers best, asks for the words that the page has, and puts
// the page first.
importScripts("ENGINE");
const search = self.onmessage;
const reply = self.postMessage.bind(self);
const SHOWN = 30; // results
const first = []; // the page to put first, for each answer that is due
let items = [];
// page -> the weight of each of its words, its questions, the names that it explains, and the words of its sections
let pages = new Map();

const words = (text) =>
  text
    .toLowerCase()
    .replace(/(\d),(?=\d{3})/g, "$1")
    .match(/[\p{L}\p{N}_]+/gu) ?? [];
const stem = (word) => word.replace(/^(.{3,}?)(ing|ed|es|(?<!s)s|e)$/, "$1"); // export: exports, exported
const stems = (text) => words(text).map(stem);
const page = (item) => item.location.split("#")[0];
// Words of every question: rare in a manual, but no sign of its subject.
const FILLER = new Set(
  "a an and are can do does doesn for from how i in is it me my of on or t the this to what when which why with you".split(
    " ",
  ),
);
// Pages for maintainers mention everything, and answer few questions.
const rank = (name) =>
  /^how\//.test(name)
    ? 1.5
    : /^(architecture|benchmarks|contributing|decisions|differences|security)/.test(name)
      ? 0.6
      : 1;

function read(index) {
  items = index.items;
  pages = new Map();
  for (const item of items) {
    const known = pages.get(page(item)) ?? { weights: new Map(), questions: " ", titles: new Set(), sections: [] };
    pages.set(page(item), known);
    const add = (text, weight) => {
      for (const word of stems(text)) known.weights.set(word, Math.max(weight, known.weights.get(word) ?? 0));
    };
    const text = item.text.replace(/<[^>]*>/g, " ");
    add(text, 1);
    const also = item.text.match(/<p>Also asked as:.*?<\/p>/s)?.[0] ?? "";
    add(also, 2);
    add(item.title, item.level === 1 ? 3 : 2);
    if (item.level === 1) known.questions += `${stems(`${item.title} ${also}`).join(" ")} `;
    if (item.title.includes(".")) known.titles.add(stems(item.title).join(" ")); // LogDir.scalars
    known.sections.push(new Set(stems(`${text} ${item.title} ${item.path.join(" ")}`)));
  }
}

// The best page, and those of the typed words that its best section has. The last word may be unfinished.
function choose(input) {
  const every = [...new Set(stems(input))];
  const telling = every.filter((word) => !FILLER.has(word));
  const typed = telling.length ? telling : every;
  const found = typed.map((begin, at) => {
    const is = (word) => word === begin || (at === typed.length - 1 && word.startsWith(begin));
    const weight = new Map();
    for (const [name, { weights }] of pages) {
      const exact = weights.get(begin);
      const begun = exact ? [exact] : [...weights].filter(([word]) => is(word)).map(([, value]) => value / 2);
      if (begun.length) weight.set(name, Math.max(...begun));
    }
    return { begin, is, weight, rarity: Math.log((1 + pages.size) / (1 + weight.size)) };
  });
  const inARow = (name) =>
    (pages.get(name).questions.includes(` ${every.join(" ")} `) ? 1.5 : 1) *
    (pages.get(name).titles.has(every.join(" ")) ? 2 : 1);
  const score = (name) =>
    inARow(name) * rank(name) * found.reduce((sum, { weight, rarity }) => sum + (weight.get(name) ?? 0) * rarity, 0);
  const [best, value] = [...pages.keys()]
    .map((name) => [name, score(name)])
    .reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0]);
  if (!value) return ["", input]; // the engine corrects words that no page has
  const shared = pages.get(best).sections.map((section) => found.filter(({ is }) => [...section].some(is)));
  const most = shared.reduce((a, b) => (weighed(b) > 1.5 * weighed(a) ? b : a)); // the first section has the answer
  const text = most.filter(({ begin }) => !/^\d{4,}$/.test(begin)); // the engine takes 1,000 for two words
  return [best, (text.length ? text : most).map(({ begin }) => begin).join(" ")];
}

const weighed = (part) => part.reduce((sum, { rarity }) => sum + rarity, 0);

self.postMessage = (message) => {
  if (message.type === 3 || message.type === 4) {
    const best = first.shift();
    const isBest = ({ id }) => page(items[id]) === best;
    message.data?.items?.sort((a, b) => isBest(b) - isBest(a));
    message.data?.items?.splice(SHOWN);
  }
  reply(message);
};

self.onmessage = ({ data: message }) => {
  if (message.type === 0) read(message.data);
  if (message.type === 2) {
    const [best, input] = choose(message.data.input ?? "");
    first.push(best);
    message.data.input = input;
  }
  search({ data: message });
};
