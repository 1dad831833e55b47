/**
 * A plugin of the bundler: yargs measures texts with the `string-width` that its own parts have. The newer one that it asks for
 * makes a pattern of all emojis when it is loaded, which takes a tenth of a start. Nothing that yargs prints has emojis.
 * @type {import('esbuild').Plugin}
 */
export const oneStringWidth = {
  name: 'one string-width',
  setup(build) {
    build.onResolve({ filter: /^string-width$/ }, ({ importer, kind, pluginData }) =>
      pluginData === oneStringWidth || !/\/node_modules\/yargs\//.test(importer)
        ? undefined
        : build.resolve('string-width', { kind, resolveDir: 'node_modules/cliui', pluginData: oneStringWidth }),
    )
  },
}
