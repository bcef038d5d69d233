//! All policy texts of one judgement, compiled once each however many principals share them.

use std::collections::HashMap;

use super::super::document::Compiled;
use super::super::evaluate::Layer;
use super::super::pattern::{Glob, arn_parts};
use super::input::{NamedPolicy, Reading};
use super::shape::Shape;

/// One policy text.
#[derive(Debug)]
pub(super) struct Doc {
    /// None for a text that is no policy.
    pub(super) compiled: Option<Compiled>,
    /// Why it is none.
    pub(super) wrong: Option<String>,
    pub(super) shapes: Vec<Shape>,
    /// Numbers of the resource patterns in it.
    patterns: Vec<usize>,
    /// It has variables in resources: each key is a case of its own.
    variables: bool,
}

/// The texts, each once.
#[derive(Debug, Default)]
pub(super) struct Docs<'a> {
    docs: Vec<Doc>,
    by_text: HashMap<&'a str, usize>,
    patterns: Vec<String>,
    by_pattern: HashMap<String, usize>,
}

/// Policies at one place of AWS's order, by number.
#[derive(Debug, Clone, Default)]
pub(super) enum Place<'a> {
    #[default]
    Absent,
    /// The name of each, and its number.
    Known(Vec<(&'a str, usize)>),
    NotKnown(String),
}

impl<'a> Docs<'a> {
    pub(super) fn add(&mut self, text: &'a str) -> usize {
        if let Some(number) = self.by_text.get(text) {
            return *number;
        }
        let shapes = Shape::all(text);
        let (compiled, wrong) = match Compiled::new(text) {
            Ok(compiled) => (Some(compiled), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let mut patterns = Vec::new();
        let mut variables = false;
        for pattern in shapes.iter().flat_map(|shape| &shape.resources) {
            variables |= pattern.text.contains("${");
            let next = self.patterns.len();
            let number = *self.by_pattern.entry(pattern.text.clone()).or_insert(next);
            if number == next {
                self.patterns.push(pattern.text.clone());
            }
            patterns.push(number);
        }
        patterns.sort_unstable();
        patterns.dedup();
        self.docs.push(Doc { compiled, wrong, shapes, patterns, variables });
        let number = self.docs.len() - 1;
        self.by_text.insert(text, number);
        number
    }

    /// Named policies; one that is no policy makes the place unknown.
    pub(super) fn place(&mut self, policies: &[NamedPolicy<'a>]) -> Place<'a> {
        let mut known = Vec::with_capacity(policies.len());
        for policy in policies {
            let number = self.add(policy.text);
            if let Some(wrong) = self.wrong(number) {
                return Place::NotKnown(format!("the policy {} is no policy: {wrong}", policy.name));
            }
            known.push((policy.name, number));
        }
        Place::Known(known)
    }

    /// One policy that may be there or not.
    pub(super) fn reading(&mut self, name: &'a str, reading: &Reading<&'a str>) -> Place<'a> {
        match reading {
            Reading::Absent => Place::Absent,
            Reading::Known(text) => {
                let number = self.add(text);
                match self.wrong(number) {
                    Some(wrong) => Place::NotKnown(format!("{name} is no policy: {wrong}")),
                    None => Place::Known(vec![(name, number)]),
                }
            }
            Reading::NotAsked => Place::NotKnown(format!("{name} was not asked for")),
            Reading::Failed(why) => Place::NotKnown(format!("{name} could not be read: {why}")),
        }
    }

    fn wrong(&self, number: usize) -> Option<&str> {
        self.get(number)?.wrong.as_deref()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Doc> {
        self.docs.get(number)
    }

    pub(super) fn layer(&self, place: &Place<'_>) -> Layer<'_> {
        match place {
            Place::Absent => Layer::Absent,
            Place::NotKnown(_) => Layer::NotKnown,
            Place::Known(known) => {
                let compiled = known.iter().filter_map(|(_, number)| self.get(*number)?.compiled.as_ref());
                Layer::Known(compiled.collect())
            }
        }
    }

    /// The statements of a place, with the policy's name.
    pub(super) fn shapes<'s>(&'s self, place: &'s Place<'a>) -> impl Iterator<Item = (&'a str, &'s Shape)> {
        let known = match place {
            Place::Known(known) => known.as_slice(),
            _ => &[],
        };
        known.iter().flat_map(|(name, number)| {
            self.get(*number).into_iter().flat_map(|doc| &doc.shapes).map(move |shape| (*name, shape))
        })
    }

    pub(super) fn all(&self) -> &[Doc] {
        &self.docs
    }

    /// Which patterns match which of these ARNs of one bucket.
    pub(super) fn matrix(&self, arns: &[String]) -> Matrix {
        let rows = self.patterns.iter().map(|pattern| {
            let whole = Glob::new(pattern);
            // Policies compare ARNs part by part; for the keys of one bucket only the last part differs.
            let last = arn_parts(pattern).map(|[.., last]| Glob::new(last));
            let bits = arns.iter().map(|arn| {
                let key = arn_parts(arn).map(|[.., key]| key).unwrap_or_default();
                let by_parts = last.as_ref().is_some_and(|last| last.matches(key));
                u8::from(whole.matches(arn)) | u8::from(by_parts) << 1
            });
            bits.collect()
        });
        Matrix { rows: rows.collect(), width: arns.len() }
    }
}

/// See [`Docs::matrix`].
#[derive(Debug)]
pub(super) struct Matrix {
    rows: Vec<Vec<u8>>,
    width: usize,
}

impl Matrix {
    /// Puts the ARNs that these places can't tell apart into one class. Gives each ARN's class, and for each class the
    /// first ARN in it.
    pub(super) fn classes(&self, docs: &Docs<'_>, places: &[&Place<'_>]) -> (Vec<u16>, Vec<usize>) {
        let mut used: Vec<usize> = Vec::new();
        let mut each = false;
        for place in places {
            let Place::Known(known) = place else { continue };
            for doc in known.iter().filter_map(|(_, number)| docs.get(*number)) {
                used.extend(&doc.patterns);
                each |= doc.variables;
            }
        }
        used.sort_unstable();
        used.dedup();
        // A pattern that treats all alike tells nothing apart.
        let rows: Vec<&Vec<u8>> = used
            .iter()
            .filter_map(|number| self.rows.get(*number))
            .filter(|row| row.iter().any(|bit| Some(bit) != row.first()))
            .collect();
        let mut found: HashMap<Vec<u8>, u16> = HashMap::new();
        let mut firsts = Vec::new();
        let mut class_of = Vec::with_capacity(self.width);
        for at in 0..self.width {
            let mut signature: Vec<u8> =
                rows.iter().map(|row| row.get(at).copied().unwrap_or_default()).collect();
            if each {
                signature.extend(at.to_le_bytes());
            }
            let next = u16::try_from(firsts.len()).unwrap_or(u16::MAX);
            let class = *found.entry(signature).or_insert(next);
            if class == next {
                firsts.push(at);
            }
            class_of.push(class);
        }
        (class_of, firsts)
    }
}
