//! The forward pass of BERT: embeddings, layers of attention and of two dense steps, the mean over all tokens.

use std::path::Path;

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, Slice, concatenate, linalg::general_mat_mul};
use serde::Deserialize;

use super::weights::Weights;

#[derive(Deserialize)]
struct Config {
    hidden_size: usize,
    intermediate_size: usize,
    layer_norm_eps: f32,
    max_position_embeddings: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    vocab_size: usize,
}

/// The model, ready to compute.
pub(super) struct Bert {
    words: Array2<f32>,
    /// The positions, with what marks the first of two texts added.
    positions: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
}

struct Layer {
    /// Query, key and value in one.
    attention: Dense,
    output: Dense,
    norm: Norm,
    up: Dense,
    down: Dense,
    end_norm: Norm,
}

struct Dense {
    /// As they are in the file, a row for each number that comes out: turning them round would take longer than a question.
    weights: Array2<f32>,
    bias: Array1<f32>,
}

struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
    epsilon: f32,
}

impl Bert {
    pub(super) fn read(config: &str, weights: &Path) -> Result<Self, String> {
        let config: Config = serde_json::from_str(config).map_err(|error| format!("its configuration: {error}"))?;
        let Config { hidden_size: size, num_attention_heads: heads, .. } = config;
        if heads == 0 || !size.is_multiple_of(heads) || config.max_position_embeddings == 0 {
            return Err("its configuration makes no sense".to_owned());
        }
        let mut file = Weights::open(weights)?;
        let words = file.matrix("embeddings.word_embeddings.weight", config.vocab_size, size)?;
        let mut positions =
            file.matrix("embeddings.position_embeddings.weight", config.max_position_embeddings, size)?;
        let kinds = file.matrix("embeddings.token_type_embeddings.weight", 2, size)?;
        positions += &kinds.row(0);
        let norm = Norm::read(&mut file, "embeddings.LayerNorm", size, config.layer_norm_eps)?;
        let layers = (0..config.num_hidden_layers).map(|number| Layer::read(&mut file, number, &config));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Self { words, positions, norm, layers, heads })
    }

    /// The length of its vectors.
    pub(super) fn length(&self) -> usize {
        self.words.ncols()
    }

    /// How many tokens it knows.
    pub(super) fn words(&self) -> usize {
        self.words.nrows()
    }

    /// How many tokens a text may have.
    pub(super) fn positions(&self) -> usize {
        self.positions.nrows()
    }

    /// The vector of these tokens, of length 1. They are known ones, and not more than there are positions.
    pub(super) fn embed(&self, ids: &[u32]) -> Vec<f32> {
        let ids: Vec<usize> = ids.iter().map(|id| *id as usize).collect();
        let mut x = self.words.select(Axis(0), &ids) + self.positions.slice_axis(Axis(0), Slice::from(..ids.len()));
        self.norm.apply(&mut x);
        for layer in &self.layers {
            layer.apply(&mut x, self.heads);
        }
        let mean = x.mean_axis(Axis(0)).unwrap_or_default();
        let norm = mean.dot(&mean).sqrt();
        if norm > 0.0 { (mean / norm).to_vec() } else { mean.to_vec() }
    }
}

impl Layer {
    fn read(file: &mut Weights, number: usize, config: &Config) -> Result<Self, String> {
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let (size, wide, epsilon) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let parts: Vec<Dense> = ["query", "key", "value"]
            .into_iter()
            .map(|part| Dense::read(file, &name(&format!("attention.self.{part}")), size, size))
            .collect::<Result<_, _>>()?;
        let join = |error: ndarray::ShapeError| error.to_string();
        let weights: Vec<_> = parts.iter().map(|part| part.weights.view()).collect();
        let biases: Vec<_> = parts.iter().map(|part| part.bias.view()).collect();
        let attention = Dense {
            weights: concatenate(Axis(0), &weights).map_err(join)?,
            bias: concatenate(Axis(0), &biases).map_err(join)?,
        };
        Ok(Self {
            attention,
            output: Dense::read(file, &name("attention.output.dense"), size, size)?,
            norm: Norm::read(file, &name("attention.output.LayerNorm"), size, epsilon)?,
            up: Dense::read(file, &name("intermediate.dense"), size, wide)?,
            down: Dense::read(file, &name("output.dense"), wide, size)?,
            end_norm: Norm::read(file, &name("output.LayerNorm"), size, epsilon)?,
        })
    }

    fn apply(&self, x: &mut Array2<f32>, heads: usize) {
        let seen = attend(&self.attention.apply(x), heads);
        *x += &self.output.apply(&seen);
        self.norm.apply(x);
        let mut wide = self.up.apply(x);
        wide.mapv_inplace(gelu);
        *x += &self.down.apply(&wide);
        self.end_norm.apply(x);
    }
}

/// What every token takes from the others, for query, key and value side by side.
fn attend(all: &Array2<f32>, heads: usize) -> Array2<f32> {
    let (tokens, size) = (all.nrows(), all.ncols() / 3);
    let width = size / heads;
    let part = |which: usize, head: usize| -> ArrayView2<'_, f32> {
        let from = which * size + head * width;
        all.slice_axis(Axis(1), Slice::from(from..from + width))
    };
    #[expect(clippy::cast_precision_loss, reason = "a head is some dozen numbers wide")]
    let scale = 1.0 / (width as f32).sqrt();
    let mut out = Array2::zeros((tokens, size));
    let mut shares = Array2::zeros((tokens, tokens));
    for head in 0..heads {
        general_mat_mul(scale, &part(0, head), &part(1, head).t(), 0.0, &mut shares);
        for mut row in shares.rows_mut() {
            let most = row.fold(f32::NEG_INFINITY, |most, value| most.max(*value));
            row.mapv_inplace(|value| exp(value - most));
            let sum = row.sum();
            row /= sum;
        }
        let mut taken: ArrayViewMut2<'_, f32> =
            out.slice_axis_mut(Axis(1), Slice::from(head * width..(head + 1) * width));
        general_mat_mul(1.0, &shares, &part(2, head), 0.0, &mut taken);
    }
    out
}

impl Dense {
    fn read(file: &mut Weights, name: &str, from: usize, to: usize) -> Result<Self, String> {
        let weights = file.matrix(&format!("{name}.weight"), to, from)?;
        Ok(Self { weights, bias: file.row(&format!("{name}.bias"), to)? })
    }

    fn apply(&self, x: &Array2<f32>) -> Array2<f32> {
        let mut out = x.dot(&self.weights.t());
        out += &self.bias;
        out
    }
}

impl Norm {
    fn read(file: &mut Weights, name: &str, size: usize, epsilon: f32) -> Result<Self, String> {
        let (weight, bias) = (file.row(&format!("{name}.weight"), size)?, file.row(&format!("{name}.bias"), size)?);
        Ok(Self { weight, bias, epsilon })
    }

    fn apply(&self, x: &mut Array2<f32>) {
        for mut row in x.rows_mut() {
            let mean = row.mean().unwrap_or(0.0);
            row -= mean;
            let variance = row.mapv(|value| value * value).mean().unwrap_or(0.0);
            let factor = 1.0 / (variance + self.epsilon).sqrt();
            row.zip_mut_with(&self.weight, |value, weight| *value *= factor * weight);
            row += &self.bias;
        }
    }
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function by a quotient of polynomials, which the compiler makes vector instructions of. Within 4, where it is
/// not 1 to seven digits, it differs by less than a millionth.
fn erf(x: f32) -> f32 {
    const ABOVE: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_3e-2,
    ];
    const BELOW: [f32; 5] = [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2];
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let sum = |terms: &[f32]| terms.iter().fold(0.0, |sum, term| sum * square + term);
    x * sum(&ABOVE) / sum(&BELOW)
}

/// e to a number that is not above zero, to seven digits, without a call into the system's library.
fn exp(x: f32) -> f32 {
    // Adding and taking away this rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    const TERMS: [f32; 7] = [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    let x = x.max(-87.0) * std::f32::consts::LOG2_E;
    let whole = (x + ROUND) - ROUND;
    let rest = (x - whole) * std::f32::consts::LN_2;
    let power = TERMS.iter().fold(0.0, |sum, term| sum * rest + term);
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer within -126 and 0")]
    let exponent = (whole as i32 + 127).cast_unsigned();
    power * f32::from_bits(exponent << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_what_they_are_called() {
        for step in -300..=300_i16 {
            let x = f32::from(step) / 100.0;
            // The series of the error function, in more digits.
            let z = f64::from(x);
            let mut term = z;
            let mut sum = z;
            for n in 1..200 {
                term *= -z * z / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            let expected = 2.0 / std::f64::consts::PI.sqrt() * sum;
            assert!((f64::from(erf(x)) - expected).abs() < 2e-6, "erf {x}: {} {expected}", erf(x));
            if x <= 0.0 {
                assert!((exp(x * 20.0) - (x * 20.0).exp()).abs() < 1e-6, "exp {x}");
            }
        }
        assert!((erf(6.0) - 1.0).abs() < 1e-6 && (erf(-6.0) + 1.0).abs() < 1e-6);
        assert!(exp(-1e9) < 1e-30 && (exp(0.0) - 1.0).abs() < 1e-7);
    }

    /// Numbers that need no random generator: the same in any language.
    fn numbers(tensor: usize, count: usize) -> Vec<f32> {
        let number = |at: usize| f32::from(u16::try_from((at * 7919 + tensor * 104_729) % 1000).unwrap_or(0));
        (0..count).map(|at| number(at) / 1000.0 - 0.5).collect()
    }

    /// A model of two small layers, as a file.
    fn small(folder: &Path) -> (String, std::path::PathBuf) {
        let mut tensors: Vec<(String, Vec<usize>)> = vec![
            ("embeddings.word_embeddings.weight".to_owned(), vec![12, 8]),
            ("embeddings.position_embeddings.weight".to_owned(), vec![16, 8]),
            ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, 8]),
            ("embeddings.LayerNorm.weight".to_owned(), vec![8]),
            ("embeddings.LayerNorm.bias".to_owned(), vec![8]),
        ];
        for layer in 0..2 {
            for (name, shape) in [
                ("attention.self.query", vec![8, 8]),
                ("attention.self.key", vec![8, 8]),
                ("attention.self.value", vec![8, 8]),
                ("attention.output.dense", vec![8, 8]),
                ("attention.output.LayerNorm", vec![8]),
                ("intermediate.dense", vec![16, 8]),
                ("output.dense", vec![8, 16]),
                ("output.LayerNorm", vec![8]),
            ] {
                tensors.push((format!("encoder.layer.{layer}.{name}.weight"), shape.clone()));
                tensors.push((format!("encoder.layer.{layer}.{name}.bias"), vec![shape[0]]));
            }
        }
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        for (at, (name, shape)) in tensors.into_iter().enumerate() {
            let from = data.len();
            data.extend(numbers(at, shape.iter().product()).iter().flat_map(|number| number.to_le_bytes()));
            let tensor = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [from, data.len()]});
            header.insert(name, tensor);
        }
        let header = serde_json::Value::Object(header).to_string();
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(data);
        let path = folder.join("model.safetensors");
        std::fs::write(&path, file).unwrap();
        let config = r#"{"hidden_size": 8, "intermediate_size": 16, "layer_norm_eps": 1e-12, "max_position_embeddings": 16,
            "num_attention_heads": 2, "num_hidden_layers": 2, "vocab_size": 12}"#;
        (config.to_owned(), path)
    }

    /// The numbers are those of an independent computation in Python.
    #[test]
    fn a_small_model_gives_the_reference_s_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let (config, path) = small(folder.path());
        let bert = Bert::read(&config, &path).unwrap();
        assert_eq!((bert.length(), bert.words(), bert.positions()), (8, 12, 16));
        for (ids, expected) in REFERENCE {
            let vector = bert.embed(ids);
            for (found, expected) in vector.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-5, "{ids:?}: {vector:?}");
            }
        }
    }

    #[test]
    fn damaged_files_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (config, path) = small(folder.path());
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 4, 8, 100, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(Bert::read(&config, &path).is_err(), "{length}");
        }
        std::fs::write(&path, &whole).unwrap();
        for (from, to) in
            [("\"vocab_size\": 12", "\"vocab_size\": 13"), ("heads\": 2", "heads\": 3"), ("2, \"vocab", "3, \"vocab")]
        {
            assert!(config.contains(from) && Bert::read(&config.replace(from, to), &path).is_err(), "{from}");
        }
    }

    const REFERENCE: [(&[u32], [f32; 8]); 3] = [
        (&[1, 3, 2], [-0.157_390, -0.212_423, -0.324_594, -0.531_055, 0.522_636, 0.410_315, -0.084_921, -0.306_603]),
        (
            &[1, 5, 7, 11, 0, 2],
            [-0.157_477, -0.212_287, -0.325_228, -0.530_823, 0.521_686, 0.409_538, -0.085_879, -0.308_765],
        ),
        (&[4], [-0.157_713, -0.211_788, -0.321_538, -0.535_139, 0.521_111, 0.406_044, -0.088_761, -0.310_169]),
    ];
}
