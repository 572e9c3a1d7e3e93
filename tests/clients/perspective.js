// Ask a server in Perspective's shape through perspective-api-client, whose address is fixed: axios sends it elsewhere.
// ROOT and KEY in the environment; prints what came back as JSON.
const { createRequire } = require("node:module");
const load = createRequire(process.cwd() + "/");
const axios = load("axios");
const Perspective = load("perspective-api-client");

axios.interceptors.request.use((config) => {
  config.url = config.url.replace("https://commentanalyzer.googleapis.com", process.env.ROOT);
  return config;
});

async function main() {
  const client = new Perspective({ apiKey: process.env.KEY });
  const scored = await client.analyze("what a grumblefop you are", { attributes: ["IDENTITY_ATTACK"] });
  let refused = null;
  try {
    await client.analyze("a fine day, my friends", { attributes: ["INSULT"] });
  } catch (error) {
    refused = error.message;
  }
  console.log(JSON.stringify({ scored, refused }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
