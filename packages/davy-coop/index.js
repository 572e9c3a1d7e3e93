// A plug-in for Coop: a signal for each question that a server of Davy answers.
// Texts in, a probability from 0 to 100 out, as thresholds in Coop's rules are.

const INTEGRATION = "DAVY";
const VERSION = "0.1.0";
const DOCUMENTATION = "https://roostorg.github.io/coop/INTEGRATIONS_PLUGIN.html";
const QUESTIONS = {
  DAVY_HATE: { question: "hate", title: "Davy: hateful", about: "Probability that a text is hateful towards people for who they are." },
  DAVY_OFFENSIVE: { question: "offensive", title: "Davy: offensive", about: "Probability that a text is coarse, abusive, an insult or a threat." },
  DAVY_SEXIST: { question: "sexist", title: "Davy: sexist", about: "Probability that an English text is sexist." },
};
const SECONDS = 30;

const section = (id, title, label, value) => ({ id, title, fields: [{ label, value }] });

export const manifest = {
  id: INTEGRATION,
  name: "Davy",
  version: VERSION,
  description: "Scores texts in English and German with a server of Davy that you run.",
  docsUrl: DOCUMENTATION,
  requiresConfig: true,
  configurationFields: [
    { key: "url", label: "Address of the server", required: true, inputType: "text", placeholder: "https://davy.example.org", description: "Where your server of Davy answers." },
    { key: "apiKey", label: "API key", required: true, inputType: "password", placeholder: "davy_…", description: "A key of the scope score." },
  ],
  signalTypeIds: Object.keys(QUESTIONS),
  modelCard: {
    modelName: "Davy",
    version: VERSION,
    releaseDate: "November 2026",
    sections: [
      section("trainingData", "Training Data", "Overview", "The card of each detector lists its corpora: the page Detectors of your server."),
      section("policyAndTaxonomy", "Policy and Taxonomy", "Questions", "The schemes of the detector say what hateful, offensive and sexist mean."),
      section("annotationMethodology", "Annotation Methodology", "Overview", "Labels are those of the corpora; the card names each."),
      section("performanceBenchmarks", "Performance and Benchmarks", "Overview", "The card has figures with intervals. Measure on posts of your own before you act on a score."),
      section("biasAndLimitations", "Bias and Limitations", "Overview", "Quoted hate, counter-speech and reclaimed words are called hateful too often. Sarcasm is missed."),
      section("implementationGuidance", "Implementation Guidance", "Thresholds", "Scores are probabilities times 100. GET /v1/detectors has each question's own threshold."),
      section("relevantLinks", "Relevant Links", "Plug-ins", DOCUMENTATION),
    ],
  },
};

async function score(config, question, text) {
  const response = await fetch(`${String(config.url).replace(/\/+$/, "")}/v1/score`, {
    method: "POST",
    headers: { Authorization: `Bearer ${config.apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ text, questions: [question] }),
    signal: AbortSignal.timeout(SECONDS * 1000),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`Davy answered ${response.status}: ${answer.error}`);
  const found = answer.results[0].questions[question];
  if (found === undefined) throw new Error(`Davy did not judge the text (language: ${answer.results[0].unsupported_language ?? "unknown"}).`);
  return found.probability * 100;
}

function textOf(input) {
  const value = input?.value?.value ?? input?.value;
  if (typeof value !== "string") throw new Error("Davy scores texts: give the signal a field of text.");
  return value;
}

function signal(type, { question, title, about }, { integrationId, getCredential }) {
  const outputType = { scalarType: "NUMBER" };
  return {
    id: { type },
    displayName: title,
    description: about,
    docsUrl: null,
    recommendedThresholds: { highPrecisionThreshold: 80, highRecallThreshold: 50 },
    supportedLanguages: question === "sexist" ? ["ENGLISH"] : ["ENGLISH", "GERMAN"],
    pricingStructure: { type: "FREE" },
    eligibleInputs: ["STRING"],
    outputType,
    getCost: () => 0,
    needsMatchingValues: false,
    eligibleSubcategories: [],
    needsActionPenalties: false,
    integration: integrationId,
    allowedInAutomatedRules: true,
    async run(input) {
      const config = await getCredential(input.orgId);
      return { outputType, score: await score(config ?? {}, question, textOf(input)) };
    },
    async getDisabledInfo(orgId) {
      const config = (await getCredential(orgId)) ?? {};
      if (config.url && config.apiKey) return { disabled: false };
      return { disabled: true, disabledMessage: "Fill in Davy's address and key in Org settings, Integrations." };
    },
  };
}

export function createSignals(context) {
  return Object.entries(QUESTIONS).map(([type, about]) => ({ signalTypeId: type, signal: signal(type, about, context) }));
}

export default { manifest, createSignals };
